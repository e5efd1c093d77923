"""One frozen `Settings`, read from KEEPWORD_* variables and an optional keepword.toml."""

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AnyHttpUrl,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from keepword import patterns
from keepword.errors import BadSettings, NotFound
from keepword.redis.address import parse as parse_redis
from keepword.wording import instead, nearest, shown

PREFIX = "KEEPWORD_"
# known by these names before there was a Keepword
_BARE = frozenset({"tool_synth_endpoint", "tool_synth_model"})
# variables of these names are there for others
# the setting that holds the key for an address; an address with a key inside would be shown
_KEY_OF = {
    "embedding_url": "embedding_key", "llm_url": "llm_key", "tool_synth_endpoint": "llm_key", "url": "key",
    "public_url": "key",
}  # fmt: skip
_EVERYBODYS = frozenset({"home", "host", "url", "key"})
FILE = "keepword.toml"

# of a request to a language model: what the answer is read by
_OWN_FIELDS = frozenset({"model", "messages", "stream", "max_tokens", "response_format"})

Seconds = Annotated[float, Field(gt=0, le=3600)]
ServerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


# not at every comma: a URL may name several hosts
_SEPARATOR = patterns.anywhere(r",\s*(?=[a-z][a-z0-9_-]*=postgres)")


def _default_home() -> Path:
    # root has no private data folder that the database's account could reach; the system has one for services
    if os.geteuid() == 0:
        return Path("/var/lib/keepword")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "keepword"


class DatabaseServer(BaseModel):
    """One of several PostgreSQL servers that share the tenants; the name is kept with each tenant's place."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ServerName
    url: SecretStr


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    host: str = Field("127.0.0.1", min_length=1, description="address to listen on")
    port: int = Field(8002, ge=0, le=65535, description="port to listen on; 0 picks a free one")
    home: Path = Field(default_factory=_default_home, description="the data folder")
    database_url: SecretStr | None = Field(None, description="another PostgreSQL 16+ instead of the embedded one")
    replica_urls: tuple[SecretStr, ...] = Field(
        (), description="streaming replicas of that PostgreSQL, which answer searches and other reads"
    )
    servers: tuple[DatabaseServer, ...] = Field(
        (), description="several of them that share the tenants, as name=URL; the first holds the directory"
    )
    redis_url: SecretStr | None = Field(None, description="a Redis 6.2+ for working memory, buffer and ledger")
    processes: int = Field(
        0, ge=0, le=64, description="processes that serve requests; 0: one for each processor, at most 8"
    )
    pool_size: int = Field(20, ge=1, le=500, description="most database connections at once")
    copies_mb: int = Field(
        256, ge=0, le=1_000_000, description="memory for copies of the scopes that are searched often; 0 keeps none"
    )
    request_timeout_seconds: Seconds = Field(30, description="longest time that a request may take")
    requests_at_once: int = Field(16, ge=1, le=10_000, description="most requests worked on at once")
    requests_waiting: int = Field(64, ge=0, le=10_000, description="most requests that wait for their turn")
    requests_per_tenant: int = Field(
        0,
        ge=0,
        le=10_000,
        description="most of them of one tenant while others are active; 0: half, or half of pool_size if that is less",
    )
    requests_per_key: int = Field(
        0, ge=0, le=10_000, description="most of them of one key while others of its tenant are active; 0: half"
    )
    requests_wait_seconds: Seconds = Field(1, description="longest time that a request waits for its turn")
    connections: int = Field(2000, ge=16, le=60_000, description="most open connections; fewer if files are short")
    bodies_mb: int = Field(
        128, ge=64, le=1_000_000, description="memory for bodies of requests at once; one tenant gets half"
    )
    quota_messages: int | None = Field(None, ge=1, description="most messages that a tenant may append on a day (UTC)")
    quota_mb: int | None = Field(None, ge=1, description="most megabytes of messages that it may append on a day")
    quota_background_seconds: float | None = Field(
        None, gt=0, description="longest time that the background may work for a tenant on a day"
    )
    statement_timeout_seconds: Seconds = Field(10, description="longest time that one statement may take")
    llm_url: AnyHttpUrl | None = Field(
        None, description="an OpenAI-compatible API, such as http://127.0.0.1:8091/v1; without one nothing asks a model"
    )
    llm_model: str = Field("default", min_length=1, description="the model to ask for; many local servers ignore it")
    llm_key: SecretStr | None = Field(None, description="the key that the model's API wants")
    llm_context_tokens: int = Field(128_000, ge=2048, le=100_000_000, description="the model's window, in tokens")
    llm_timeout_seconds: Seconds = Field(600, description="longest time that one answer may take, with all retries")
    llm_requests_a_minute: int = Field(
        0, ge=0, le=100_000, description="most requests to the model's API in any minute, by one process; 0: no limit"
    )
    llm_extra_body: dict[str, Any] = Field(
        default_factory=dict, description="JSON with more fields for every request to it, such as a switch for thinking"
    )
    tool_synth_endpoint: AnyHttpUrl | None = Field(None, description="another API for the sentences of tool calls")
    tool_synth_model: str | None = Field(None, min_length=1, description="another model for them")
    worker_concurrency: int = Field(4, ge=1, le=100, description="most jobs at once in one process")
    compact_window_messages: int = Field(50, ge=2, le=1000, description="most messages of one summary")
    compact_tail_messages: int = Field(
        10, ge=0, le=1000, description="last messages of a live conversation, left alone"
    )
    compact_silence_seconds: float = Field(3600, gt=0, le=604_800, description="silence that ends a session")
    secrets: Literal["hide", "keep"] = Field(
        "hide", description="whether passwords, keys and card numbers stay out of memories, summaries and landmarks"
    )
    turns_days: int = Field(
        14, ge=0, le=3650, description="days for which composed turns are kept, without their words; 0 keeps none"
    )
    imports_mb: int = Field(
        2048,
        ge=1,
        le=1_000_000,
        description="most megabytes of a tenant's uploads that are not yet imported",
    )
    imports_at_once: int = Field(2, ge=0, le=16, description="most imports at once, of different tenants; 0: none here")
    webhooks_private: bool = Field(
        False, description="whether webhooks may lead to addresses that are not public, such as this machine's own"
    )
    metrics: Literal["loopback", "anyone"] = Field("loopback", description="who may read /metrics, without a key")
    public_url: AnyHttpUrl | None = Field(
        None, description="address that others reach this service at; default: the one that each request names"
    )
    oauth_servers: tuple[AnyHttpUrl, ...] = Field(
        (), description="where clients of MCP are told to get their token, which is one of Keepword's keys"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="what is logged")
    timezone: ZoneInfo = Field(
        ZoneInfo("UTC"), description="what `today` and `this_morning` mean, such as Europe/Berlin"
    )
    url: AnyHttpUrl | None = Field(None, description="service that the command line talks to; default: host and port")
    key: SecretStr | None = Field(None, description="API key that the command line sends")

    worker: bool = Field(True, description="whether the service also does the background work, such as embedding")
    embedding_threads: int = Field(0, ge=0, le=256, description="the deep model's threads; 0: half of the processors")
    embedding_url: AnyHttpUrl | None = Field(None, description="what /embeddings is appended to, such as .../v1")
    embedding_model: str | None = Field(None, min_length=1, max_length=200, description="the remote model's name")
    embedding_key: SecretStr | None = Field(None, description="API key that the embedding endpoint wants")
    embedding_rate: float = Field(10, gt=0, le=10_000, description="most requests a second to the embedding endpoint")
    embedding: Literal["local", "remote", "none"] = Field("local", description="who makes the deep vectors")

    @field_validator("oauth_servers", mode="before")
    @classmethod
    def _addresses(cls, values: Any) -> Any:
        return values.replace(",", " ").split() if isinstance(values, str) else values

    @field_validator("embedding_url", "llm_url", "tool_synth_endpoint", "url", "public_url")
    @classmethod
    def _without_secrets(cls, url: AnyHttpUrl | None, info: ValidationInfo) -> AnyHttpUrl | None:
        if url and (url.username or url.password or url.query):
            key = variable(_KEY_OF[info.field_name or "url"])
            raise ValueError(f"must be a plain address, without user, password or query; a key belongs into {key}")
        return url

    @field_validator("embedding")
    @classmethod
    def _complete(cls, embedding: str, info: ValidationInfo) -> str:
        if embedding == "remote" and not (info.data.get("embedding_url") and info.data.get("embedding_model")):
            raise ValueError("needs KEEPWORD_EMBEDDING_URL and KEEPWORD_EMBEDDING_MODEL as well")
        return embedding

    @field_validator("timezone", mode="before")
    @classmethod
    def _zone(cls, name: Any) -> ZoneInfo:
        try:
            return ZoneInfo(str(name))
        except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
            raise ValueError(f"{name!r} is no time zone; one is named like Europe/Berlin") from exc

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    @field_validator("database_url")
    @classmethod
    def _postgres(cls, url: SecretStr | None) -> SecretStr | None:
        if url and not url.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("must start with postgresql://")
        return url

    @field_validator("replica_urls", mode="before")
    @classmethod
    def _urls(cls, values: Any) -> Any:
        # not at every comma: a URL may name several hosts
        return (
            values.replace(",postgres", " postgres").replace(", ", " ").split() if isinstance(values, str) else values
        )

    @field_validator("replica_urls")
    @classmethod
    def _replicas(cls, urls: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for url in urls:
            cls._postgres(url)
        return urls

    @field_validator("servers", mode="before")
    @classmethod
    def _named(cls, values: Any) -> Any:
        if isinstance(values, str):
            values = [one.partition("=")[::2] for one in _SEPARATOR.sub(" ", values).split()]
        if isinstance(values, dict):  # a table in the file
            values = list(values.items())
        return [{"name": one[0], "url": one[1]} if isinstance(one, tuple) else one for one in values]

    @field_validator("servers")
    @classmethod
    def _servers(cls, servers: tuple[DatabaseServer, ...], info: ValidationInfo) -> tuple[DatabaseServer, ...]:
        for server in servers:
            cls._postgres(server.url)
        if doubled := sorted(_doubled([server.name for server in servers])):
            raise ValueError(f"names the server {doubled[0]} twice")
        if servers and (others := [key for key in ("database_url", "replica_urls") if info.data.get(key)]):
            raise ValueError(f"can't be combined with {variable(others[0])}: it names all servers itself")
        return servers

    @property
    def main_url(self) -> SecretStr | None:
        """The database that is not the embedded one: of several servers the first."""
        return self.servers[0].url if self.servers else self.database_url

    def server(self, name: str) -> DatabaseServer:
        """Return the server of this name; raises NotFound."""
        for server in self.servers:
            if server.name == name:
                return server
        known = ", ".join(server.name for server in self.servers) or "none"
        raise NotFound(f"no server {name!r} in KEEPWORD_SERVERS; there are: {known}")

    def on(self, server: DatabaseServer) -> "Settings":
        """Return the settings of somebody for whom this one is the only server."""
        return self.model_copy(update={"servers": (), "database_url": server.url})

    def each(self) -> "tuple[Settings, ...]":
        """Return the settings for each server alone; without several, these."""
        return tuple(map(self.on, self.servers)) or (self,)

    @field_validator("key", "embedding_key", "llm_key")
    @classmethod
    def _sendable(cls, key: SecretStr | None) -> SecretStr | None:
        if key and not (key.get_secret_value().isascii() and key.get_secret_value().isprintable()):
            raise ValueError("must be printable ASCII, because it is sent in a header; copy it as it was shown")
        return key

    @field_validator("llm_extra_body", mode="before")
    @classmethod
    def _object(cls, raw: Any) -> Any:
        try:
            value = json.loads(raw) if isinstance(raw, str) else raw
        except ValueError as exc:
            raise ValueError(f'must be a JSON object, such as {{"reasoning_effort": "high"}}: {exc}') from exc
        if not isinstance(value, dict):
            raise ValueError('must be a JSON object, such as {"reasoning_effort": "high"}')  # noqa: TRY004
        if own := sorted(_OWN_FIELDS & value.keys()):
            raise ValueError(f"may not hold {', '.join(own)}: Keepword sets that itself")
        return value

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, url: SecretStr | None) -> SecretStr | None:
        if url is None:
            return None
        parse_redis(url.get_secret_value())
        return url


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, and for each the place that it came from."""

    settings: Settings
    origins: Mapping[str, str]


def read_settings(
    env: Mapping[str, str] | None = None, folder: Path | None = None, given: Mapping[str, Any] | None = None
) -> LoadedSettings:
    """Prefer what is given to variables, and these to the file. Raises BadSettings for anything unknown or bad."""
    file = (folder or Path.cwd()) / FILE
    from_file = _read_file(file)
    from_env = _read_env(os.environ if env is None else env)
    from_code = _known(given or {}, "")
    origins = dict.fromkeys(Settings.model_fields, "default")
    origins |= dict.fromkeys(from_file, str(file)) | {key: variable(key) for key in from_env}
    origins |= dict.fromkeys(from_code, "what the program gave")
    try:
        return LoadedSettings(Settings(**{**from_file, **from_env, **from_code}), origins)
    except ValidationError as exc:
        raise BadSettings(_explain(exc, origins)) from exc


def _doubled(names: Sequence[str]) -> set[str]:
    return {name for name in names if names.count(name) > 1}


def variable(key: str) -> str:
    return key.upper() if key in _BARE else PREFIX + key.upper()


def unprefixed(env: Mapping[str, str]) -> list[str]:
    """Return the settings whose variable is set without the prefix alone: somebody may wonder why it has no effect."""
    return [
        key for key in Settings.model_fields
        if key not in _EVERYBODYS and variable(key) != key.upper() and key.upper() in env and variable(key) not in env
    ]  # fmt: skip


def _read_env(env: Mapping[str, str]) -> dict[str, Any]:
    known = {variable(key): key for key in Settings.model_fields}
    variables = {name: value for name, value in env.items() if name.startswith(PREFIX) or name in known}
    if unknown := sorted(variables.keys() - known.keys()):
        near = nearest(unknown[0].removeprefix(PREFIX), Settings.model_fields)
        raise BadSettings(f"unknown setting {unknown[0]}; {instead(sorted(known), variable(near) if near else None)}")
    return {known[name]: value for name, value in variables.items()}


def _read_file(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise BadSettings(f"{file} is not valid TOML: {exc}") from exc
    return _known(values, f" in {file}")


def _known(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    if unknown := sorted(values.keys() - Settings.model_fields.keys()):
        known = sorted(Settings.model_fields)
        near = nearest(unknown[0].removeprefix(PREFIX), known)
        raise BadSettings(f"unknown setting {unknown[0]}{where}; {instead(known, near)}")
    return dict(values)


def _explain(exc: ValidationError, origins: Mapping[str, str]) -> str:
    lines = []
    for error in exc.errors():
        key = str(error["loc"][0])
        hidden = is_secret(key) or (key in _KEY_OF and {"@", "?"} & set(str(error["input"])))
        value = "(hidden)" if hidden else shown(error["input"])
        allowed = error["msg"].removeprefix("Value error, ")
        lines.append(f"{variable(key)} is {value} (from {origins.get(key, 'default')}): {allowed}")
    return "\n".join(lines)


def is_secret(key: str) -> bool:
    return key in {"database_url", "replica_urls", "servers", "redis_url", "key", "embedding_key", "llm_key"}
