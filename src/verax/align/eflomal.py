"""Statistical alignment with eflomal, an external tool that learns from the texts and needs no model."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, Literal

from verax.align.files import read_links
from verax.align.protocol import TextPair, link_array
from verax.models.classifier import Encoder
from verax.types import IntArray, Links, Text, Undefined, UserError

COMMAND = "eflomal-align"
Symmetrise = Literal["intersection", "grow_diag_final_and"]
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


@dataclass(frozen=True)
class Eflomal:
    """Symmetrised links of eflomal in both directions.

    It learns from all pairs at once, so that the links of one pair depend on the others, and more pairs are better. It
    is random and takes no seed: two runs may differ in a few links.

    Args:
        symmetrise: `intersection` of the two directions, or `grow_diag_final_and` for more but less certain
            links.
    """

    symmetrise: Symmetrise = "intersection"

    name: ClassVar[str] = "eflomal"
    summary: ClassVar[str] = "Links learned from the texts alone by the tool eflomal, if it is installed."
    kind: ClassVar[str] = "tool"
    learns: ClassVar[bool] = True
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Östling and Tiedemann 2016, Efficient word alignment with Markov chain Monte Carlo"

    def check(self, _: Encoder | None) -> None:
        """Raise a UserError if the tool is not installed."""
        _command()

    def align(self, pairs: Sequence[TextPair]) -> Iterator[IntArray | Undefined]:
        """Links of all pairs, from one call of the tool."""
        links = iter(_both_directions([pair for pair in pairs if not pair.empty]))
        for pair in pairs:
            yield pair.empty or link_array(symmetrise(*next(links), self.symmetrise))


def _both_directions(pairs: Sequence[TextPair]) -> list[tuple[Links, Links]]:
    """For each pair the links of either direction, all as (word of the reference, word of the translation)."""
    command = _command()
    if not pairs:
        return []
    with TemporaryDirectory(prefix="verax-eflomal-") as folder:
        source, target, forward, backward = (Path(folder, name) for name in ("source", "target", "forward", "backward"))
        source.write_text("".join(_line(pair.reference) for pair in pairs), "utf-8")
        target.write_text("".join(_line(pair.translation) for pair in pairs), "utf-8")
        options = ["-s", source, "-t", target, "-f", forward, "-r", backward]
        done = subprocess.run(  # noqa: S603 - no shell, and no word of a text is on the command line
            [command, *map(str, options)], capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode:
            output = done.stderr.strip().splitlines() or ["no output"]
            raise UserError(f"eflomal: {command} ended with code {done.returncode}: {output[-1]}")
        return [
            (there, back)
            for (there, _), (back, _) in zip(read_links(forward, pairs), read_links(backward, pairs), strict=True)
        ]


def _command() -> str:
    """Path of the tool, on the PATH or next to the Python interpreter."""
    path = shutil.which(COMMAND) or shutil.which(COMMAND, path=str(Path(sys.executable).parent))
    if path is None:
        raise UserError(f"eflomal: command {COMMAND} not found; install it with: pip install eflomal")
    return path


def _line(text: Text) -> str:
    """The words with spaces between, and none inside one: the tool counts words by them."""
    return " ".join("_".join(word.split()) or "_" for word in text.words) + "\n"


def symmetrise(
    forward: Collection[tuple[int, int]], backward: Collection[tuple[int, int]], method: Symmetrise
) -> Links:
    """Sorted links of two directions combined.

    Args:
        forward, backward: links of the two directions, both as (word of the reference, word of the translation).
        method: `intersection`, or `grow_diag_final_and` (Koehn, Och and Marcu 2003), which adds links of either
            direction that touch a link, then links of two words that both have none.
    """
    links = set(forward) & set(backward)
    if method == "grow_diag_final_and":
        _grow(links, set(forward) | set(backward))
        for direction in (forward, backward):
            for link in sorted(direction):
                if _is_free(links, 0, link) and _is_free(links, 1, link):
                    links.add(link)
    return tuple(sorted(links))


def _grow(links: set[tuple[int, int]], either: set[tuple[int, int]]) -> None:
    """Add neighbours of links, diagonal ones too, that link a word without a link, until there are none."""
    before = -1
    while before < len(links):
        before = len(links)
        for row, column in sorted(either):  # a link that is added further on is reached in the same pass
            if (row, column) not in links:
                continue
            for down, right in _NEIGHBOURS:
                link = row + down, column + right
                if link in either and (_is_free(links, 0, link) or _is_free(links, 1, link)):
                    links.add(link)


def _is_free(links: Collection[tuple[int, int]], side: int, link: tuple[int, int]) -> bool:
    """Whether no link contains the word of a link on one side."""
    return all(other[side] != link[side] for other in links)
