"""A viewer that serves runs written by hand on 127.0.0.1, and requests to it."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple

from verax.view.library import Library
from verax.view.security import Access
from verax.view.serve import Service


class Answer(NamedTuple):
    status: int
    headers: Message
    body: str


@dataclass(frozen=True)
class Served:
    """A running viewer, asked over HTTP as a browser with its cookie would, unless headers say otherwise."""

    access: Access
    folders: Sequence[Path]

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.access.port}"

    def request(self, path: str, method: str = "GET", body: str = "", **headers: str) -> Answer:
        host = f"127.0.0.1:{self.access.port}"
        sent = {"Host": host, "Cookie": self.cookie, "Content-Length": str(len(body.encode())), **headers}
        with closing(http.client.HTTPConnection("127.0.0.1", self.access.port, timeout=60)) as connection:
            connection.putrequest(method, path, skip_host=True)
            for name, value in sent.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders(body.encode())
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())

    @property
    def cookie(self) -> str:
        return f"{self.access.cookie}={self.access.session}"

    def text(self, path: str) -> str:
        answer = self.request(path)
        assert answer.status == 200, answer.body
        return answer.body

    def run(self, name: str) -> str:
        """The address of the run in a folder of this name."""
        return next(f"/runs/{e.name}" for e in Library(self.folders).runs() if e.folder.name == name)


@contextmanager
def serving(*folders: Path, model: Any = None) -> Iterator[Served]:
    """Serve folders until the block ends."""
    service = Service.open(folders, model=model)
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield Served(service.access, folders)
    finally:
        service.server.should_exit = True
        thread.join()
