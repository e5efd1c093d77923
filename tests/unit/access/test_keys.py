import hashlib
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.access.keys import Secret, StoredKey, parse_lifetime
from keepword.cli.keys import _new_key
from keepword.errors import InvalidInput
from keepword.model import Key

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def stored(secret, expires_at=None, revoked_at=None):
    return StoredKey(Key(secret.id, uuid4(), "t", "admin"), secret.digest, expires_at, revoked_at)


def test_a_made_key_is_read_back_and_is_never_the_same_twice():
    made = {Secret.make() for _ in range(100)}
    assert len(made) == 100
    for secret in made:
        assert Secret.parse(secret.text) == secret
        assert secret.digest == hashlib.sha256(secret.secret.encode()).digest()


@given(st.text())
def test_what_is_no_key_is_not_read(text):
    found = Secret.parse(text)
    assert found is None or found.text == text


@pytest.mark.parametrize("change", [" {}", "{} ", "{}\n", "x{}", "{}x", "Bearer {}"])
def test_nothing_may_stand_around_a_key(change):
    assert Secret.parse(change.format(Secret.make().text)) is None


def test_only_the_right_secret_is_admitted():
    secret = Secret.make()
    assert stored(secret).admits(secret, NOW)
    assert not stored(secret).admits(Secret(secret.id, Secret.make().secret), NOW)


def test_a_key_works_until_the_moment_it_expires():
    secret = Secret.make()
    key = stored(secret, expires_at=NOW)
    assert key.admits(secret, NOW - timedelta(microseconds=1))
    assert not key.admits(secret, NOW)


def test_a_revoked_key_does_not_work_however_long_it_would_have():
    secret = Secret.make()
    assert not stored(secret, expires_at=NOW + timedelta(days=1), revoked_at=NOW).admits(secret, NOW)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("1m", timedelta(minutes=1)),
        ("12h", timedelta(hours=12)),
        ("90d", timedelta(days=90)),
        ("2w", timedelta(days=14)),
        ("100y", timedelta(days=36500)),
    ],
)
def test_a_lifetime_is_a_number_and_a_unit(text, span):
    assert parse_lifetime(text) == span


@pytest.mark.parametrize(
    "text", ["", "d", "1", "0d", "-1d", "1.5d", "1 d", "1D", "1d ", "1d\n", "٣d", "1s", "101y", "99999y", "999999m"]
)
def test_any_other_lifetime_is_refused_with_its_text(text):
    with pytest.raises(InvalidInput) as caught:
        parse_lifetime(text)
    assert repr(text) in str(caught.value)
    assert caught.value.field == "expires"


@given(st.text())
def test_a_lifetime_is_read_or_refused_and_fits_the_calendar(text):
    try:
        span = parse_lifetime(text)
    except InvalidInput:
        return
    assert timedelta(0) < span
    assert datetime.now(UTC) + span


@pytest.mark.parametrize(
    ("values", "field"),
    [
        (("t", "king", None, None, None), "role"),
        (("", "admin", None, None, None), "tenant"),
        (("a/b", "admin", None, None, None), "tenant"),
        (("t", "agent", "not:an agent", None, None), "agent"),
        (("t", "agent", None, " ", None), "user"),
        (("t", "admin", None, None, ""), "expires"),
        (("t", "admin", None, None, "soon"), "expires"),
    ],
)
def test_a_bad_key_is_refused_with_its_field(values, field):
    with pytest.raises(InvalidInput) as caught:
        _new_key(*values)
    assert caught.value.field == field
