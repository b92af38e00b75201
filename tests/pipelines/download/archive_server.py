"""An HTTP server for one file, with the faults of real ones."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ArchiveServer(ThreadingHTTPServer):
    """Serves `content` under every path, and keeps the ranges that were asked for."""

    daemon_threads = True

    def __init__(self, content: bytes):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = content
        self.asked: list[str] = []  # Range header of each request
        self.sent_bytes = 0
        self.breaks_after: int | None = None  # bytes of an answer, after which the connection ends
        self.knows_ranges = True
        self.tells_length = True
        self.failures: list[int] = []  # HTTP codes of the next answers

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: ArchiveServer

    def do_GET(self) -> None:
        server = self.server
        asked = self.headers.get("Range", "")
        server.asked.append(asked)
        if server.failures:
            self.send_error(server.failures.pop(0))
            return
        first = int(asked.removeprefix("bytes=").rstrip("-") or 0) if server.knows_ranges else 0
        rest = server.content[first:]
        self.send_response(206 if server.knows_ranges else 200)
        if server.tells_length:
            self.send_header("Content-Length", str(len(rest)))
        if server.knows_ranges:
            total = len(server.content)
            self.send_header("Content-Range", f"bytes {first}-{total - 1}/{total}")
        self.end_headers()
        sent = rest if server.breaks_after is None else rest[: server.breaks_after]
        server.sent_bytes += len(sent)
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serving(content: bytes) -> Iterator[ArchiveServer]:
    """Serve a file while the body runs."""
    with ArchiveServer(content) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
