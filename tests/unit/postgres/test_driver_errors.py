"""What the driver raises becomes an error that says what to do."""

import pytest
from psycopg import errors
from psycopg_pool import PoolTimeout

from keepword.errors import Unavailable
from keepword.postgres.driver_errors import translate


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (errors.DiskFull(), "disk is full"),
        (errors.QueryCanceled(), "took too long"),
        (errors.DeadlockDetected(), "collided with another write"),
        (errors.AdminShutdown(), "away"),
        (errors.UndefinedFunction(), "keepword doctor"),
        (errors.UndefinedTable(), "keepword doctor"),
        (errors.UndefinedColumn(), "keepword doctor"),
        (PoolTimeout(), "away"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_it_is_unavailable_and_says_why(raised, said):
    found = translate(raised)
    assert isinstance(found, Unavailable)
    assert said in str(found)
