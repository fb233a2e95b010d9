"""All adjectives and adverbs of WordNet (its files, or the database of `wn`), or those of the built-in corpus."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from verax.data.world.knowledge import DIMENSIONS, narrower
from verax.data.world.lexicon_en import synonyms
from verax.metrics.free_text.linguistics import EXTRA
from verax.types import UserError

DEBIAN = "/usr/share/wordnet"
WORLD = "world"
"""Name of the vocabulary of the built-in corpus, in place of a path."""
VARIABLE = "WNSEARCHDIR"
"""The environment variable of WordNet for the folder of its files."""
INSTALL_HINT = (
    "install Debian's wordnet-base, or name the folder of data.adj and data.adv, or the database of wn "
    f"({EXTRA}; python -m wn download oewn:2024)"
)

_FILES = {"adjectives": "data.adj", "adverbs": "data.adv"}
_TAGS = {"adjectives": ("a", "s"), "adverbs": ("r", "r")}
_SQLITE = b"SQLite format 3\0"
_OF_WN = """
    SELECT forms.form FROM forms JOIN entries ON forms.entry_rowid = entries.rowid
    JOIN lexicons ON entries.lexicon_rowid = lexicons.rowid
    WHERE entries.pos IN (?, ?) AND forms.rank = 0 AND (lexicons.language = 'en' OR lexicons.language LIKE 'en-%')
"""


@dataclass(frozen=True, slots=True)
class WordLists:
    """Distinct single words, sorted."""

    adjectives: tuple[str, ...]
    adverbs: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """Hash of the lists: part of the provenance of an edit."""
        content = "\n".join((*self.adjectives, "", *self.adverbs))
        return hashlib.sha256(content.encode()).hexdigest()[:16]


@lru_cache(maxsize=4)
def word_lists(path: str | None = None) -> WordLists:
    """WordNet's adjectives and adverbs of one word.

    Args:
        path: a folder with WordNet's `data.adj` and `data.adv`, or the database file of the package `wn`; the default
            installation of WordNet if None. `world` is the vocabulary of the built-in corpus, which has no adverbs.
    """
    if path == WORLD:
        return _of_world()
    place = Path(path or os.environ.get(VARIABLE) or DEBIAN).expanduser()
    if not place.exists():
        raise UserError(f"wordnet: {place} does not exist; {INSTALL_HINT}")
    lists = {name: _single(_words(place, name)) for name in _FILES}
    for name, words in lists.items():
        if not words:
            raise UserError(f"wordnet: {place} has no English {name}; {INSTALL_HINT}")
    return WordLists(**lists)


def _of_world() -> WordLists:
    """Every quality that the built-in corpus knows."""
    qualities = (dimension for dimension in DIMENSIONS if dimension not in {"activity", "place"})
    concepts = (concept for quality in qualities for root in DIMENSIONS[quality] for concept in narrower(root))
    return WordLists(_single(word for concept in concepts for word in synonyms(concept)), ())


def _words(place: Path, name: str) -> Iterable[str]:
    return _of_folder(place / _FILES[name]) if place.is_dir() else _of_wn(place, _TAGS[name])


def _single(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({word for word in words if word and not any(sign.isspace() or sign == "_" for sign in word)}))


def _of_folder(file: Path) -> Iterator[str]:
    """The words of a data file: each line is `offset file kind count word id word id ...`, the count in hexadecimal.

    Data files keep capitals (French), index files do not. A mark such as (a) gives the position of an adjective.
    """
    if not file.is_file():
        raise UserError(f"wordnet: {file.parent} has no {file.name}; {INSTALL_HINT}")
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith(" "):  # the licence
                continue
            fields = line.split(" ")
            try:
                count = int(fields[3], 16)
                words = [fields[4 + 2 * i] for i in range(count)]
            except (IndexError, ValueError):
                raise UserError(
                    f"wordnet: {file}:{number} is not a line of a WordNet data file: {line[:40]!r}"
                ) from None
            yield from (word.partition("(")[0] for word in words)


def _of_wn(file: Path, tags: tuple[str, str]) -> list[str]:
    with file.open("rb") as opened:
        if opened.read(len(_SQLITE)) != _SQLITE:
            raise UserError(f"wordnet: {file} is neither a folder nor the database of wn; {INSTALL_HINT}")
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return [form for (form,) in database.execute(_OF_WN, tags)]
    except sqlite3.DatabaseError as error:
        raise UserError(f"wordnet: {file} is not the database of wn: {error}") from error
