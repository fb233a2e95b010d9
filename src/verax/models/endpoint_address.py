"""The address of an endpoint, as the user gave it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from verax.types import UserError

COMPLETIONS = "/chat/completions"
_EXAMPLE = "such as https://api.example.com/v1"


@dataclass(frozen=True, slots=True)
class Address:
    """Where chat completions are asked for.

    Args:
        secure: whether by TLS.
        host, port: of the server.
        path: of the requests.
        netloc: host and port as the URL writes them.
    """

    secure: bool
    host: str
    port: int
    path: str
    netloc: str


def parse_address(url: str) -> Address:
    """The address in a base URL; a UserError if it holds anything but scheme, host, port and path."""
    if not all("!" <= character <= "~" for character in url):
        raise UserError(
            f"url: got {_shown(ascii(url))}; blanks and characters beyond ASCII are to be escaped, {_EXAMPLE}"
        )
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")  # an empty name between dots, or one that is too long
    except ValueError as error:
        raise UserError(f"url: got {_shown(url)!r}, {error}; give a base URL {_EXAMPLE}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UserError(f"url: got {_shown(url)!r}; give a base URL {_EXAMPLE}")
    if "@" in parts.netloc:
        raise UserError("url: a URL with a name or password in it is refused; keys come from the environment (key_env)")
    if parts.query or parts.fragment:
        raise UserError(f"url: a base URL has no ? and no #; give it {_EXAMPLE}")
    base = parts.path.rstrip("/")
    if base.endswith(COMPLETIONS):
        raise UserError(
            f"url: give the base URL, without {COMPLETIONS}: {_shown(url).rstrip('/')[: -len(COMPLETIONS)]}"
        )
    secure = parts.scheme == "https"
    return Address(secure, parts.hostname, port or (443 if secure else 80), base + COMPLETIONS, parts.netloc)


def _shown(url: str) -> str:
    """A URL for a message: without what stands before an @ or behind a question mark, which may be secret."""
    return url.partition("?")[0].rpartition("@")[2]
