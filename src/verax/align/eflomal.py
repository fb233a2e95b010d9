"""Statistical alignment with eflomal, an external tool that learns from the texts and needs no model."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from verax.align.files import read_links
from verax.align.protocol import TextPair, link_array
from verax.align.symmetrise import Symmetrise, symmetrise
from verax.models.classifier import Encoder
from verax.types import IntArray, Links, Text, Undefined, UserError

COMMAND = "eflomal-align"


@dataclass(frozen=True)
class Eflomal:
    """Symmetrised links of eflomal in both directions.

    It learns which words go together from all pairs at once: many pairs help, and the links of one depend on the
    others. It draws at random and takes no seed, so that two runs may differ in a few links.

    Args:
        symmetrise: `intersection` of the two directions, or `grow_diag_final_and`: more links, less sure ones.
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
