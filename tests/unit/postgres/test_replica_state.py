"""Which servers may answer in place of a primary."""

from dataclasses import replace

import pytest

from keepword.postgres.replicas import ServerState, name_of

PRIMARY = ServerState(is_standby=False, log_end=1000, system=7, database=5, timeline=2)
STANDBY = ServerState(is_standby=True, log_end=900, system=7, database=5, timeline=2)


def test_a_standby_of_this_primary_may_answer():
    assert STANDBY.fault_beside(PRIMARY) is None


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (replace(STANDBY, system=8), "no copy of this primary"),
        (replace(STANDBY, database=6), "another database"),
        (replace(STANDBY, is_standby=False), "takes writes of its own"),
        # what it has replayed beyond the fork never happened on the new primary
        (replace(STANDBY, timeline=1, log_end=2000), "follows timeline 1"),
        (replace(STANDBY, timeline=3), "follows timeline 3"),
    ],
)
def test_others_may_not(other, reason):
    assert reason in other.fault_beside(PRIMARY)


def test_a_replica_is_named_without_its_user_and_password():
    assert name_of("postgresql://me:hunter2@replica.internal:6432/keepword") == "replica.internal:6432"
    assert name_of("postgresql:///keepword?host=/run/pg&user=me&password=hunter2") == "/run/pg:5432"
