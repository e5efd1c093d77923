"""Where a request comes from."""

from contextlib import suppress
from ipaddress import ip_address

from fastapi import Request

# a proxy adds one of these headers; the sender is then on another machine
_PROXY_HEADERS = ("forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip")
_PROXY_PREFIX = "x-forwarded-"


def is_from_loopback(request: Request) -> bool:
    """Tell whether the connection comes from this machine and no proxy passes it on."""
    if any(name in _PROXY_HEADERS or name.startswith(_PROXY_PREFIX) for name in request.headers):
        return False
    with suppress(ValueError):
        return request.client is not None and ip_address(request.client.host).is_loopback
    return False
