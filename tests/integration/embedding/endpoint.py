"""A real HTTP server that speaks /embeddings, and misbehaves as it is told."""

import json
import threading
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class EmbeddingServer:
    """Plays what is queued in `script`, a dict of status, headers, body, delay or hang_up for each; then it behaves."""

    def __init__(self, dimensions: int = 8) -> None:
        self.dimensions = dimensions
        self.script: deque[dict[str, Any]] = deque()
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.answer(self)

            def log_message(self, *_: object) -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        self.times.append(time.monotonic())
        self.requests.append({"path": handler.path, "key": handler.headers["authorization"]} | body)
        act = self.script.popleft() if self.script else {}
        time.sleep(act.get("delay", 0))
        if act.get("hang_up"):
            handler.connection.close()
            return
        raw = json.dumps(act.get("body", self.embeddings(body["input"]))).encode()
        handler.send_response(act.get("status", 200))
        for name, value in ({"content-length": str(len(raw))} | act.get("headers", {})).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(raw)

    def embeddings(self, texts: list[str]) -> dict[str, Any]:
        rows = [{"index": number, "embedding": self.vector(text)} for number, text in enumerate(texts)]
        return {"data": rows[::-1]}  # the order is the index's, not the list's

    def vector(self, text: str) -> list[float]:
        return [2.0 if number == len(text) % self.dimensions else 0.0 for number in range(self.dimensions)]
