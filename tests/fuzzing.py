"""Requests that nobody should send: every route of an OpenAPI document in turn, with values of all sorts of wrong."""

import http.client
import json
import math
import random
import re
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

METHODS = ("get", "put", "post", "patch", "delete")
UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# what is there, so that requests get past the first check
KNOWN = {
    "external_id": "demo", "conversation_id": "demo", "user": "u", "slug": "helper", "room": "r", "project": "p",
    "name": "SOUL.md", "scope_kind": "user", "scope_id": "u", "key": "a", "kind": "users", "member": "u",
    "conversation": "demo", "seq": "1", "entity_type": "user", "entity": "u",
}  # fmt: skip
NAMES = ("demo", "u", "r", "p", "helper", "SOUL.md", "user", "global", "a")
TEXTS = (
    "", " ", "\x00", "a\x00b", "\ud800", "\udfff\ud800", "\U0010ffff", "\u202e\u2066", "\x1b[2J", "é", "e\u0301", "İ",
    "..", "../../etc/passwd", "%2e%2e", "%00", "'; DROP TABLE messages; --", "' OR '1'='1", "${jndi:ldap://x}", "{{7}}",
    "<script>", "</recall>", "=cmd()", "null", "undefined", "NaN", "true", "0", "-1", "1e400", "[]", "{}", "*", "?",
    "ß", "#",
    "a" * 201, "x" * 5_000, " " * 3_000, "." * 9_000, "\n" * 2_000 + "x:", "<" + " " * 3_000, "(" * 500, "[" * 500,
    "(a+)+$", r"(.+)(.+)\1\2x", "a{1,255}{1,255}", "\\", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999+14:00",
    "2024-02-30", "2024-01-31", "last_7d", "AAAA", "eyJhIjoxfQ==", "00000000-0000-0000-0000-000000000000",
)  # fmt: skip
NUMBERS = (
    0, -1, 1, 2, 7, 50, 51, 1000, 1001, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0,
    1e308, 5e-324, math.nan, math.inf, -math.inf,
)  # fmt: skip
ODD_HEADERS = (
    {"Keepword-User": "nobody"}, {"Keepword-Agent": "helper"}, {"Keepword-Agent": "a:b"}, {"If-Match": '"x"'},
    {"If-None-Match": "*"}, {"X-Request-Id": "x" * 500}, {"Accept": "text/event-stream"}, {"Range": "bytes=0-"},
    {"Content-Type": "text/plain"}, {"Content-Type": "application/vnd.api+json"}, {"Expect": "100-continue"},
    {"Content-Type": "application/json; charset=utf-16"}, {"Content-Encoding": "gzip"}, {"X-Forwarded-For": "1.2.3.4"},
)  # fmt: skip
_SHAPES = ("bytes", "cut", "deep", "many", "other")
ERASING = ("/v1/tenant", "/v1/users/{user}", "/v1/conversations/{external_id}")
DEPTH = 6
HANG_SECONDS = 120


@dataclass(frozen=True)
class Request:
    route: str
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Fuzzer:
    """Yields requests without end, one for each route before any gets its next; the same for the same seed.

    `learn` takes an answer: the ids in it are used again, so that what was made is also changed and deleted.
    """

    document: dict[str, Any]
    seed: int
    _ids: deque[str] = field(default_factory=lambda: deque(maxlen=200))

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def learn(self, answer: bytes) -> None:
        self._ids.extend(found.decode() for found in UUID.findall(answer)[:5])

    def requests(self) -> Iterator[Request]:
        routes = list(self._routes())
        while True:
            for method, path, operation in routes:
                yield self._request(method, path, operation)

    def _routes(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, item in self.document["paths"].items():
            shared = item.get("parameters", [])
            for method in METHODS:
                if method in item:
                    yield (
                        method.upper(),
                        path,
                        item[method] | {"parameters": item[method].get("parameters", []) + shared},
                    )
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        for tool in (
            "memory_search", "memory_browse", "memory_stats", "memory_add", "memory_update", "memory_forget",
            "fact_set", "fact_get", "landmark_pin", "memory",
        ):  # fmt: skip
            asked = call | {"params": {"name": tool, "arguments": {"query": "hello", "conversation": "demo"}}}
            yield "POST", "/mcp", {"requestBody": {"content": {"application/json": {"example": asked}}}}

    def _request(self, method: str, path: str, operation: dict[str, Any]) -> Request:
        headers = {"Content-Type": "application/json"}
        body = b""
        if content := operation.get("requestBody", {}).get("content"):
            ((media, described),) = list(content.items())[:1]
            headers["Content-Type"] = media
            body = self._body(described)
        if path == "/mcp":
            headers["Accept"] = "application/json, text/event-stream"
        if self._one_in(12):
            headers |= self._random.choice(ODD_HEADERS)
        target = re.sub(r"\{(\w+)\}", lambda hole: quote(self._name(hole[1]), safe="", errors="surrogatepass"), path)
        query = "&".join(self._query(operation.get("parameters", [])))
        return Request(f"{method} {path}", method, f"{target}?{query}" if query else target, headers, body)

    def _query(self, parameters: list[dict[str, Any]]) -> Iterator[str]:
        for parameter in parameters:
            if parameter.get("in") == "query" and (parameter.get("required") or self._one_in(3)):
                value = KNOWN.get(parameter["name"]) if self._one_in(2) else None
                value = value or self._value(parameter.get("schema", {}), 0)
                text = value if isinstance(value, str) else json.dumps(value)
                yield f"{quote(parameter['name'])}={quote(text, safe='', errors='surrogatepass')}"
        if self._one_in(30):
            yield self._random.choice(("unknown=1", "%ff=%fe", "limit=1&limit=2", "cursor=%00", "&&=&"))

    def _name(self, hole: str) -> str:
        pick = self._random.random()
        if pick < 0.7 and (hole in KNOWN or self._ids):
            return KNOWN.get(hole) or self._random.choice(self._ids)
        if pick < 0.85:
            return self._random.choice(NAMES)
        return self._random.choice(TEXTS) or "empty"

    def _body(self, described: dict[str, Any]) -> bytes:
        example = described.get("example")
        made = example if example is not None and self._one_in(2) else self._value(described.get("schema", {}), 0)
        for _ in range(self._random.choice((0, 0, 1, 1, 2, 4))):
            made = self._changed(made)
        if self._one_in(10):
            return self._broken(json.dumps(made).encode())
        return json.dumps(made).encode()

    def _broken(self, text: bytes) -> bytes:
        shape = self._random.choice(_SHAPES)
        place = self._random.randrange(len(text) + 1)
        if shape == "bytes":
            return text[:place] + self._random.randbytes(3) + text[place:]
        if shape == "cut":
            return text[:place]
        if shape == "deep":
            return text[:place] + b"[" * 3_000 + b"]" * 3_000 + text[place:]
        if shape == "many":
            return b'{"a": [' + b"{}," * 3_000 + text + b"]}"
        return self._random.choice((b"", b"null", b"[]", b"{}", b'"x"', b"1", b"\xff\xfe{\x00}\x00", b'{"a":1,"a":2}'))

    def _changed(self, made: Any) -> Any:
        """Put something else in one place of what was made, or leave that place out."""
        if isinstance(made, dict) and made and not self._one_in(4):
            key = self._random.choice(list(made))
            rest = {name: value for name, value in made.items() if name != key}
            if self._one_in(6):
                return rest
            return rest | {self._text() if self._one_in(8) else key: self._changed(made[key])}
        if isinstance(made, list) and made and not self._one_in(4):
            place = self._random.randrange(len(made))
            return [*made[:place], self._changed(made[place]), *made[place + 1 :]]
        return self._anything()

    def _anything(self) -> Any:
        return self._random.choice(
            (
                self._text(),
                self._text(),
                self._random.choice(NUMBERS),
                None,
                True,
                [],
                {},
                [[]],
                {"a": {"b": [1, None]}},
            )
        )

    def _text(self) -> str:
        return (
            self._random.choice(self._ids) if self._ids and self._one_in(5) else self._random.choice((*TEXTS, *NAMES))
        )

    def _value(self, schema: dict[str, Any], depth: int) -> Any:
        """Return a value that fits the schema, more or less."""
        schema = self._resolved(schema)
        if "enum" in schema or "const" in schema:
            return self._random.choice(schema.get("enum") or [schema["const"]])
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                return self._value(self._random.choice(schema[several]), depth + 1)
        if schema.get("type") == "object" and depth < DEPTH:
            return self._object(schema, depth)
        if schema.get("type") == "array" and depth < DEPTH:
            amount = self._random.choice((0, 1, 1, 2, 5))
            return [self._value(schema.get("items", {}), depth + 1) for _ in range(amount)]
        return self._single(schema.get("type"))

    def _single(self, kind: str | None) -> Any:
        if kind in {"integer", "number"}:
            return self._random.choice((1, 2, 5, 10, 3, self._random.choice(NUMBERS)))
        if kind == "boolean":
            return self._one_in(2)
        return self._random.choice((self._random.choice(NAMES), "hello there, when do we fly?", self._text()))

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", [])
        return {
            name: self._value(part, depth + 1)
            for name, part in schema.get("properties", {}).items()
            if name in required or self._one_in(3)
        }

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def _one_in(self, amount: int) -> bool:
        return self._random.randrange(amount) == 0


def is_odd(outcome: str) -> bool:
    return outcome.startswith("5") or outcome in {"hang", "gone", "error"}


class Sender(threading.Thread):
    """Sends so many requests one after the other, each with one of the keys, and counts what comes back by route.

    `odd` keeps what should not be: an answer of 500 or more, none within `HANG_SECONDS`, a service that is gone.
    """

    def __init__(self, address: str, fuzzer: Fuzzer, keys: Sequence[str], amount: int) -> None:
        super().__init__(daemon=True)
        self._address, self._fuzzer, self._keys, self._amount = address, fuzzer, keys, amount
        self.counts: dict[str, Counter[str]] = {}
        self.odd: list[tuple[str, Request]] = []

    def run(self) -> None:
        connection, chosen = self._connect(), random.Random(self._fuzzer.seed)
        for number, request in enumerate(self._fuzzer.requests()):
            if number == self._amount:
                break
            # not in turn: with as many routes as keys go into, each route would only ever be asked with one key
            key = chosen.choice(self._keys)
            try:
                outcome = self._send(connection, request, {"Authorization": f"Bearer {key}"} if key else {})
            except TimeoutError:
                outcome = "hang"
            except ConnectionRefusedError:
                outcome = "gone"
            except (OSError, http.client.HTTPException) as exc:
                # a body that is refused half-way: the answer comes with the end of the connection
                outcome = f"closed ({type(exc).__name__})"
            if not outcome.isdigit():
                connection.close()
                connection = self._connect()
            self.counts.setdefault(request.route, Counter())[outcome] += 1
            if is_odd(outcome):
                self.odd.append((outcome, request))
            if outcome == "gone":
                break
        connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._address, timeout=HANG_SECONDS)

    def _send(self, connection: http.client.HTTPConnection, request: Request, key: dict[str, str]) -> str:
        connection.request(request.method, request.target, request.body, request.headers | key)
        answer = connection.getresponse()
        text = answer.read()
        self._fuzzer.learn(text)
        return str(answer.status)


def prepare(address: str, key: str) -> dict[str, Any]:
    """Make what the names stand for; return the service's OpenAPI document."""
    connection = http.client.HTTPConnection(address, timeout=HANG_SECONDS)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    made = {
        "/v1/users/u": {}, "/v1/agents/helper": {}, "/v1/rooms/r": {}, "/v1/projects/p": {},
        "/v1/rooms/r/participants/users/u": {}, "/v1/conversations/demo": {"user": "u", "agent": "helper"},
    }  # fmt: skip
    for path, body in made.items():
        connection.request("PUT", path, json.dumps(body), headers)
        connection.getresponse().read()
    connection.request("GET", "/openapi.json", headers=headers)
    document: dict[str, Any] = json.loads(connection.getresponse().read())
    # what erases all that the requests are about, and the keys that they are sent with, has tests of its own
    for path in ERASING:
        document["paths"].get(path, {}).pop("delete", None)
    for path, item in document["paths"].items():
        content = item.get("put", {}).get("requestBody", {}).get("content", {})
        holes = re.findall(r"\{(\w+)\}", path)
        for described in content.values():
            if "example" in described and KNOWN.keys() >= set(holes):
                connection.request("PUT", path.format(**KNOWN), json.dumps(described["example"]), headers)
                connection.getresponse().read()
    connection.close()
    return document


def totals(senders: Sequence[Sender]) -> dict[str, Counter[str]]:
    """Return the outcomes by route, of all senders together."""
    found: dict[str, Counter[str]] = {}
    for sender in senders:
        for route, counts in sender.counts.items():
            found.setdefault(route, Counter()).update(counts)
    return found
