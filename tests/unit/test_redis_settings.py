"""KEEPWORD_REDIS_URL may hold a password: it is checked, and never shown."""

import pytest

from keepword.config import read_settings
from keepword.errors import BadSettings


@pytest.mark.parametrize(
    "url",
    ["redis://h", "rediss://u:p@h:6380/2", "unix:///run/redis.sock", "redis+cluster://h:7000", "rediss+cluster://h"],
)
def test_urls_of_redis_are_taken(url, tmp_path):
    read = read_settings({"KEEPWORD_REDIS_URL": url}, tmp_path).settings
    assert read.redis_url.get_secret_value() == url
    assert url not in repr(read)


@pytest.mark.parametrize("url", ["http://:secret@h", "h:6379", "", "redis://:secret@h:port", "redis://:secret@h:0"])
def test_others_are_refused_without_showing_them(url, tmp_path):
    with pytest.raises(BadSettings, match="KEEPWORD_REDIS_URL") as refused:
        read_settings({"KEEPWORD_REDIS_URL": url}, tmp_path)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["redis://:hunter2/x@h", "redis://:hunter2#x@h", "redis://me:hunter2?x@h"])
def test_a_password_that_is_not_encoded_is_not_shown(url, tmp_path):
    with pytest.raises(BadSettings, match="percent-encoded") as refused:
        read_settings({"KEEPWORD_REDIS_URL": url}, tmp_path)
    assert "hunter2" not in str(refused.value)
