"""A real HTTP server on loopback that answers as a language model would, or misbehaves as one might."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Reply = Callable[[dict[str, Any], asyncio.StreamWriter], Awaitable[None]]


@dataclass
class CrookedModel:
    """Answers each request with the next reply; the last one stays. `bodies` are the requests that came."""

    replies: Sequence[Reply]
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    dropped: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lines = [line.partition(": ") for line in head.split("\r\n")[1:] if line]
            headers = {name.lower(): value for name, _, value in lines}
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            self.headers.append(headers)
            self.bodies.append(body)
            reply = self.replies[min(len(self.bodies), len(self.replies)) - 1]
            if reply is hang:
                self.hanging.set()
            gone = asyncio.ensure_future(reader.read())
            answering = asyncio.ensure_future(reply(body, writer))
            await asyncio.wait({gone, answering}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done() and not answering.done():
                self.dropped.set()
            for task in (gone, answering):
                task.cancel()
            await asyncio.gather(gone, answering, return_exceptions=True)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def crooked_model(*replies: Reply) -> AsyncIterator[CrookedModel]:
    model = CrookedModel(replies)
    server = await asyncio.start_server(model.handle, "127.0.0.1", 0)
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield model
    finally:
        server.close()
        await server.wait_closed()


def status(code: int, body: bytes = b"{}", **headers: str) -> Reply:
    async def reply(_: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {code} Something\r\ncontent-length: {len(body)}\r\nconnection: close\r\n{more}\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    return reply


def says(text: str | Callable[[dict[str, Any]], str], finish: str = "stop", **told: Any) -> Reply:
    async def reply(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        content = text if isinstance(text, str) else text(body)
        completion = {
            "model": "crooked",
            "choices": [{"message": {"role": "assistant", "content": content, **told}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        }
        await status(200, json.dumps(completion).encode())(body, writer)

    return reply


async def hang(_: dict[str, Any], __: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def drop(_: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def cut_short(_: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    """Announce more than what comes."""
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{"choices": [{"mess')
    await writer.drain()


async def endless(_: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"\xf0\x28nonsense" * 6553 + b"padded\r\n")
        await writer.drain()


nonsense = status(200, b"\x00\xffdata: {]not json")
empty = says("")
