"""Sends deliveries over HTTP, to public addresses alone unless a setting allows others."""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from contextlib import AsyncExitStack
from ipaddress import IPv4Address, IPv6Address
from types import TracebackType
from typing import Any, Self

import httpcore
import httpx

from keepword.errors import Unavailable

CONNECT_SECONDS = 5.0
SEND_SECONDS = 15.0
# a name of an IPv4 address, for machines that speak IPv6 alone
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


class HttpSender:
    """Follows no redirect, uses no proxy, and never reads more of an answer than its head."""

    def __init__(self, *, allows_private: bool = False) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            max_keepalive_connections=0,
            network_backend=_CheckedBackend(allows_private=allows_private),
        )
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._pool)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def send(self, url: str, headers: dict[str, str], body: bytes) -> int:
        """Return the status of the answer. Raises Unavailable where there is none."""
        timeouts = {"connect": CONNECT_SECONDS, "read": SEND_SECONDS, "write": SEND_SECONDS, "pool": SEND_SECONDS}
        try:
            async with (
                asyncio.timeout(SEND_SECONDS),
                self._pool.stream(
                    "POST", url, headers=list(headers.items()), content=body, extensions={"timeout": timeouts}
                ) as response,
            ):
                return response.status
        except TimeoutError as exc:
            raise Unavailable(f"the receiver did not answer within {SEND_SECONDS:.0f} s") from exc
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError) as exc:
            raise Unavailable(f"the receiver can't be reached: {type(exc).__name__}: {exc}".rstrip(": ")) from exc
        except (httpcore.UnsupportedProtocol, ValueError, UnicodeError) as exc:
            raise Unavailable(f"the address can't be used: {exc}") from exc


class _CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects to the very address that was checked: a name that leads elsewhere a moment later gains nothing."""

    def __init__(self, *, allows_private: bool) -> None:
        self._allows_private = allows_private
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await _resolve(host, port)
        if not self._allows_private and (closed := [one for one in addresses if not is_public(one)]):
            raise Unavailable(
                f"{host} leads to {closed[0]}, which is no public address; "
                "KEEPWORD_WEBHOOKS_PRIVATE=true allows such receivers"
            )
        return await self._backend.connect_tcp(addresses[0], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


async def _resolve(host: str, port: int) -> list[str]:
    try:
        known = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as exc:
        raise Unavailable(f"{host} has no address: {exc}") from exc
    return list(dict.fromkeys(str(address[0]) for *_, address in known))


def is_public(address: str) -> bool:
    """Tell whether an address is reached from anywhere, also where it is written as part of another."""
    ip: IPv4Address | IPv6Address = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip in _TRANSLATED:
            return is_public(str(IPv4Address(int(ip) & 0xFFFFFFFF)))
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast
