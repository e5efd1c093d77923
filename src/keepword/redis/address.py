"""Addresses of several Redis servers in one URL: of a cluster's nodes, or of sentinels."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

CLUSTER, SENTINEL = "+cluster", "+sentinel"
SCHEMES = ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel")
PERCENT_ENCODED = "in a URL the characters / # ? @ : % of a password are written percent-encoded, such as %2F"
_PORTS = {CLUSTER: 6379, SENTINEL: 26379}
_SENTINEL_OPTIONS = frozenset({"sentinel_username", "sentinel_password"})


@dataclass(frozen=True, slots=True)
class Addresses:
    """`path`: of sentinels the name of what they watch, and the number of the database."""

    scheme: str
    login: str
    hosts: tuple[tuple[str, int], ...]
    path: str
    options: dict[str, str]

    @property
    def is_tls(self) -> bool:
        return self.scheme.startswith("rediss")

    @property
    def username(self) -> str | None:
        return unquote(self.login.partition(":")[0]) or None

    @property
    def password(self) -> str | None:
        return unquote(self.login.partition(":")[2]) or None

    @property
    def service(self) -> str:
        return unquote(self.path.strip("/").partition("/")[0])

    @property
    def database(self) -> int:
        return int(self.path.strip("/").partition("/")[2] or 0)


def parse(url: str) -> Addresses:
    """Read a URL of `SCHEMES`; raises ValueError, which names no part of a password."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ValueError(f"must start with {', '.join(f'{scheme}://' for scheme in SCHEMES)}")
    login, _, hosts = parts.netloc.rpartition("@")
    kind = parts.scheme.partition("+")[2]
    texts = hosts.split(",") if kind else [hosts]
    default = _PORTS.get(f"+{kind}", 6379)
    options = dict(parse_qsl(parts.query))
    addresses = Addresses(parts.scheme, login, tuple(_host(text, default) for text in texts), parts.path, options)
    if parts.scheme.endswith(SENTINEL):
        _check_sentinel(addresses)
    return addresses


def _host(text: str, default: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    try:
        port = parts.port
    except ValueError:
        # not chained: its text may hold a part of a password
        raise ValueError(f"the port is no number; {PERCENT_ENCODED}") from None
    if port == 0:
        raise ValueError("port 0 is none that a Redis listens on")
    return parts.hostname or "localhost", port or default


def _check_sentinel(addresses: Addresses) -> None:
    example = "redis+sentinel://host1:26379,host2:26379/mymaster/0"
    if not addresses.service:
        raise ValueError(f"the name of what the sentinels watch is missing; write {example}")
    if not (addresses.path.strip("/").partition("/")[2] or "0").isdecimal():
        raise ValueError(f"what follows the name is no number of a database; write {example}")
    if unknown := sorted(addresses.options.keys() - _SENTINEL_OPTIONS):
        raise ValueError(f"unknown option {unknown[0][:40]!r}; there are {', '.join(sorted(_SENTINEL_OPTIONS))}")
