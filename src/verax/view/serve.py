"""Serving the viewer until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from verax.types import UserError
from verax.view.library import Library
from verax.view.security import Access
from verax.view.server import make_app

if TYPE_CHECKING:
    from verax.view.what_if import WhatIf


@dataclass(frozen=True)
class Service:
    """A viewer that listens, but does not answer before it is run."""

    access: Access
    server: uvicorn.Server
    listener: socket.socket

    @classmethod
    def open(cls, folders: Sequence[Path], host: str = "127.0.0.1", port: int = 0, model: Any = None) -> Service:
        """Listen on an address; port 0 takes a free one.

        Args:
            model: answers what-if questions.
        """
        library = Library(folders)
        try:
            family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listener = socket.create_server(address[:2], family=family)
        except (OSError, UnicodeError) as error:  # a name that is no host name cannot be encoded
            reason = error.strerror if isinstance(error, OSError) else "not a host name"
            raise UserError(f"cannot listen on {host}, port {port}: {reason}") from None
        access = Access(host, listener.getsockname()[1])
        app = make_app(library, access, None if model is None else _what_if(model))
        config = uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="off", server_header=False, ws="none"
        )
        return cls(access, uvicorn.Server(config), listener)

    def run(self) -> None:
        """Answer requests until a signal ends it or `server.should_exit` is set."""
        with self.listener:
            self.server.run(sockets=[self.listener])


def _what_if(model: Any) -> WhatIf:
    from verax.view.what_if import WhatIf  # noqa: PLC0415 - imports torch

    return WhatIf(model)


def serve(folders: Sequence[Path], host: str, port: int, model: Any, announce: Callable[[str], None]) -> None:
    """Serve runs until a signal ends it; `announce` receives the address with its token."""
    service = Service.open(folders, host, port, model)
    announce(service.access.url)
    service.run()
