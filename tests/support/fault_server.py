"""A real HTTP server on loopback that answers chat completions, well or badly, and counts what it is asked."""

from __future__ import annotations

import json
import select
import socket
import ssl
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread, Timer
from time import monotonic, sleep
from typing import Any, cast

LONGEST_LIFE = 60.0


@dataclass(frozen=True)
class Asked:
    """One request: what was sent, and over which connection."""

    body: dict[str, Any]
    headers: dict[str, str]
    path: str
    connection: int

    @property
    def user(self) -> str:
        return str(self.body["messages"][-1]["content"])


Fault = Callable[["Handler", Asked], None]
"""Answers one request, in whatever way."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.number = self.owner.connected()

    def finish(self) -> None:
        super().finish()
        self.owner.disconnected()

    @property
    def owner(self) -> FaultServer:
        return cast("_Listener", self.server).owner

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Asked(body, dict(self.headers.items()), self.path, self.number)
        with self.owner.at_work(asked) as fault:
            fault(self, asked)

    def do_CONNECT(self) -> None:
        """As a proxy: pass bytes on in both directions until one side closes."""
        self.owner.tunnels.append(self.path)
        if self.owner.rejects_tunnels:
            self.reply(403, b"", [("Connection", "close")])
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as target:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            ends = {self.connection: target, target: self.connection}
            while not self.owner.closing.is_set():
                for readable in select.select(list(ends), [], [], 0.05)[0]:
                    data = readable.recv(65536)
                    if not data:
                        self.close_connection = True
                        return
                    ends[readable].sendall(data)

    def do_GET(self) -> None:
        """Whoever follows a redirect comes here."""
        self.owner.gets += 1
        self.reply(200, b"{}")

    def reply(
        self, status: int, body: bytes, headers: Iterable[tuple[str, str]] = (), length: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (("Content-Length", str(len(body) if length is None else length)), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def reset(self) -> None:
        """End the connection by RST, as a crashed server or a firewall does."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    owner: FaultServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class FaultServer:
    """The server, as a context; it ends with the context, and by itself after a minute.

    Args:
        script: how the first requests are answered, one after the other.
        by_prompt: how requests are answered whose prompt is this text.
        default: how all others are.
        tls: to speak TLS.
    """

    def __init__(
        self,
        script: Iterable[Fault] = (),
        *,
        by_prompt: dict[str, Fault] | None = None,
        default: Fault | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._script, self._by_prompt, self._default = list(script), by_prompt or {}, default or echo()
        self.asked: list[Asked] = []
        self.tunnels: list[str] = []
        self.rejects_tunnels = False
        self.lock, self.closing = Lock(), Event()
        self.connections = self.open = self.busy = self.peak = self.gets = self.sent = 0
        self._listener = _Listener(("127.0.0.1", 0), Handler)
        self._listener.owner = self
        if tls is not None:
            self._listener.socket = tls.wrap_socket(self._listener.socket, server_side=True)
        self.port = int(self._listener.server_address[1])
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/v1"
        self._thread = Thread(target=self._listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._timer = Timer(LONGEST_LIFE, self.close)
        self._timer.daemon = True

    def __enter__(self) -> FaultServer:
        self._thread.start()
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._timer.cancel()
        self.closing.set()
        self._listener.shutdown()
        self._listener.server_close()

    def connected(self) -> int:
        with self.lock:
            self.connections += 1
            self.open += 1
            return self.connections

    def disconnected(self) -> None:
        with self.lock:
            self.open -= 1

    def settle(self) -> None:
        """Wait until whatever a client sent before it died was read."""
        quiet, until = 0, monotonic() + 10
        while quiet < 4 and monotonic() < until:
            sleep(0.05)
            quiet = 0 if self.open else quiet + 1

    @contextmanager
    def at_work(self, asked: Asked) -> Iterator[Fault]:
        """How to answer a request, which counts as under way meanwhile."""
        with self.lock:
            self.asked.append(asked)
            self.busy += 1
            self.peak = max(self.peak, self.busy)
            first = self._script.pop(0) if self._script else None
        try:
            yield first or self._by_prompt.get(asked.user, self._default)
        finally:
            with self.lock:
                self.busy -= 1


def completion(content: Any, *, finish: Any = "stop", **message: Any) -> dict[str, Any]:
    """The body of a chat completion."""
    return {
        "object": "chat.completion",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
        ],
        "usage": {"completion_tokens": 7},
    }


def says(content: Any, *, finish: Any = "stop", **message: Any) -> Fault:
    return sends(json.dumps(completion(content, finish=finish, **message)).encode())


def sends(body: bytes, *headers: tuple[str, str], status: int = 200, length: int | None = None) -> Fault:
    """Any status, headers and body; `length` is what Content-Length says of it."""
    return lambda handler, asked: handler.reply(status, body, headers, length)


def echo() -> Fault:
    return lambda handler, asked: says(f"you said {asked.user}")(handler, asked)


def after(seconds: float, fault: Fault | None = None) -> Fault:
    """The same, later; at once if the server is closing."""

    def late(handler: Handler, asked: Asked) -> None:
        handler.owner.closing.wait(seconds)
        (fault or echo())(handler, asked)

    return late


def resets() -> Fault:
    """No byte of an answer."""
    return lambda handler, asked: handler.reset()


def resets_mid_body() -> Fault:
    def fault(handler: Handler, asked: Asked) -> None:
        handler.reply(200, b'{"choices": [', length=500)
        sleep(0.01)  # so that the beginning arrives
        handler.reset()

    return fault


def hangs_up() -> Fault:
    """A good answer, and then the connection ends, though nothing was said of it."""

    def fault(handler: Handler, asked: Asked) -> None:
        echo()(handler, asked)
        handler.close_connection = True

    return fault


def drips() -> Fault:
    """Headers without end, a byte at a time: every single read is quick."""

    def fault(handler: Handler, asked: Asked) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not handler.owner.closing.wait(0.02):
            handler.wfile.write(b"x")

    return fault


def floods() -> Fault:
    """A body without end, in chunks."""

    def fault(handler: Handler, asked: Asked) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        with suppress(OSError):
            while not handler.owner.closing.is_set():
                handler.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                handler.owner.sent += 0x10000
        handler.close_connection = True

    return fault
