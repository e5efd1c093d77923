"""What a client of MCP is told before it has a key, as RFC 9728 writes it."""

import pytest
from fastapi import Request

from keepword.http.protected_resource import ResourceSettings, challenge, metadata

SERVERS = ("https://login.example/",)


def asked(path="/mcp", host=b"memory.example:8002"):
    return Request({"type": "http", "scheme": "http", "path": path, "headers": [(b"host", host)]})


def test_it_names_the_servers_and_the_address_that_others_use():
    settings = ResourceSettings("https://memory.example/", SERVERS)
    described = metadata(asked(), settings)
    assert described["resource"] == "https://memory.example/mcp"
    assert described["authorization_servers"] == list(SERVERS)
    where = "https://memory.example/.well-known/oauth-protected-resource/mcp"
    assert challenge(asked(), settings) == f'Bearer resource_metadata="{where}"'
    assert challenge(asked("/v1/search"), settings) == "Bearer"


def test_without_an_address_it_is_the_one_that_the_request_names():
    assert metadata(asked(), ResourceSettings())["resource"] == "http://memory.example:8002/mcp"
    assert "http://[::1]:8002/.well" in challenge(asked(host=b"[::1]:8002"), ResourceSettings())


@pytest.mark.parametrize("host", [b"", b'a"b', b"a b", b"a,b", b"a/b", b"x" * 256])
def test_a_host_that_is_none_is_not_repeated(host):
    assert challenge(asked(host=host), ResourceSettings()) == "Bearer"
