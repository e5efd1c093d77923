"""KEEPWORD_REDIS_URL may hold a password: it is checked, and never shown."""

import pytest

from keepword.config import read_settings
from keepword.errors import BadSettings
from keepword.redis.address import parse


@pytest.mark.parametrize(
    "url",
    [
        "redis://h",
        "rediss://u:p@h:6380/2",
        "unix:///run/redis.sock",
        "redis+cluster://h:7000",
        "rediss+cluster://h",
        "redis+cluster://u:p@a:7000,b:7001",
        "redis+sentinel://a,b:26380,[::1]:26381/mymaster",
        "rediss+sentinel://u:p@a/mymaster/2?sentinel_password=x",
    ],
)
def test_urls_of_redis_are_taken(url, tmp_path):
    read = read_settings({"KEEPWORD_REDIS_URL": url}, tmp_path).settings
    assert read.redis_url.get_secret_value() == url
    assert url not in repr(read)


@pytest.mark.parametrize(
    "url",
    [
        "http://:secret@h",
        "h:6379",
        "",
        "redis://:secret@h:port",
        "redis://:secret@h:0",
        "redis+sentinel://:secret@a,b",
        "redis+sentinel://:secret@a/mymaster/one",
        "redis+sentinel://:secret@a,b:x/mymaster",
        "redis+sentinel://:secret@a/mymaster?password=secret",
        "redis+cluster://:secret@a,b:0",
    ],
)
def test_others_are_refused_without_showing_them(url, tmp_path):
    with pytest.raises(BadSettings, match="KEEPWORD_REDIS_URL") as refused:
        read_settings({"KEEPWORD_REDIS_URL": url}, tmp_path)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["redis://:hunter2/x@h", "redis://:hunter2#x@h", "redis://me:hunter2?x@h"])
def test_a_password_that_is_not_encoded_is_not_shown(url, tmp_path):
    with pytest.raises(BadSettings, match="percent-encoded") as refused:
        read_settings({"KEEPWORD_REDIS_URL": url}, tmp_path)
    assert "hunter2" not in str(refused.value)


def test_a_url_of_sentinels_is_read_whole():
    read = parse("rediss+sentinel://me:a%2Cb%40c@a,b:26380,[::1]:26381/my%2Dmaster/3?sentinel_password=x")
    assert read.hosts == (("a", 26379), ("b", 26380), ("::1", 26381))
    assert (read.username, read.password, read.service, read.database) == ("me", "a,b@c", "my-master", 3)
    assert read.is_tls
    assert read.options == {"sentinel_password": "x"}
