"""Adjectives and adverbs, from files in WordNet's own format and from the database of wn."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from verax.metrics.free_text.wordnet import DEBIAN, VARIABLE, WordLists, word_lists
from verax.types import UserError

DATA_ADJ = """\
  1 The terms under which these words may be used.
00000010 00 a 02 mossy 0 Welsh 0 001 ! 00000020 a 0101 | grown over; "a mossy roof"
00000020 00 s 03 asleep(p) 0 wide_awake 1 mossy 2 000 | two lists name it once
00000030 00 a 0b a1 0 a2 0 a3 0 a4 0 a5 0 a6 0 a7 0 a8 0 a9 0 b1 0 b2 0 000 | the count is hexadecimal
"""
DATA_ADV = "00000010 02 r 02 briskly 0 at_once 0 000 | without delay\n"
WN = """
    CREATE TABLE lexicons (rowid INTEGER PRIMARY KEY, language TEXT);
    CREATE TABLE entries (rowid INTEGER PRIMARY KEY, lexicon_rowid INTEGER, pos TEXT);
    CREATE TABLE forms (rowid INTEGER PRIMARY KEY, entry_rowid INTEGER, form TEXT, rank INTEGER);
    INSERT INTO lexicons VALUES (1, 'en'), (2, 'de'), (3, 'en-GB');
    INSERT INTO entries VALUES
        (1, 1, 'a'), (2, 1, 's'), (3, 1, 'r'), (4, 1, 'r'), (5, 2, 'a'), (6, 3, 'a'), (7, 1, 'n');
    INSERT INTO forms VALUES (1, 1, 'mossy', 0), (2, 1, 'mossier', 1), (3, 2, 'brisk', 0), (4, 3, 'briskly', 0),
        (5, 4, 'at once', 0), (6, 5, 'moosig', 0), (7, 6, 'grey', 0), (8, 7, 'moss', 0);
"""
LETTERS = ("a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "asleep", "b1", "b2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.adj").write_text(DATA_ADJ)
    (tmp_path / "data.adv").write_text(DATA_ADV)
    return tmp_path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "wn.db")) as made:
        made.executescript(WN)
    return tmp_path / "wn.db"


def test_single_words_of_the_files_are_read_with_their_capitals(folder: Path) -> None:
    assert word_lists(str(folder)) == WordLists(("Welsh", *LETTERS, "mossy"), ("briskly",))


def test_the_place_can_be_told_as_wordnet_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(folder))
    word_lists.cache_clear()
    assert word_lists().adverbs == ("briskly",)
    word_lists.cache_clear()


def test_english_lemmas_of_the_database_are_read(database: Path) -> None:
    assert word_lists(str(database)) == WordLists(("brisk", "grey", "mossy"), ("briskly",))


def test_other_lists_have_another_fingerprint() -> None:
    one = WordLists(("mossy", "red"), ("briskly",))
    assert one.fingerprint == WordLists(("mossy", "red"), ("briskly",)).fingerprint
    assert len({one.fingerprint, WordLists(("mossy",), ("red", "briskly")).fingerprint}) == 2


def test_what_is_missing_is_told_with_how_to_get_it(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(
        UserError, match=r"wordnet: .*nowhere does not exist; install Debian's wordnet-base.*verax\[nle\]"
    ):
        word_lists(str(tmp_path / "nowhere"))
    (folder / "data.adv").unlink()
    with pytest.raises(UserError, match=r"has no data\.adv; install"):
        word_lists(str(folder))


@pytest.mark.parametrize("line", ["00000010 00 a zz mossy 0\n", "00000010 00 a 04 mossy 0\n", "mossy\n"])
def test_a_line_of_another_format_is_named(folder: Path, line: str) -> None:
    (folder / "data.adj").write_text(f"{DATA_ADJ}{line}")
    with pytest.raises(UserError, match=r"data\.adj:5 is not a line of a WordNet data file"):
        word_lists(str(folder))


def test_a_list_without_words_is_refused(folder: Path) -> None:
    (folder / "data.adv").write_text("00000010 02 r 01 at_once 0 000 | without delay\n")
    with pytest.raises(UserError, match="has no English adverbs"):
        word_lists(str(folder))


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("mossy")
    with pytest.raises(UserError, match="is neither a folder nor the database of wn"):
        word_lists(str(tmp_path / "words.txt"))
    with closing(sqlite3.connect(tmp_path / "other.db")) as made:
        made.execute("CREATE TABLE words (word TEXT)")
    with pytest.raises(UserError, match="is not the database of wn: no such table"):
        word_lists(str(tmp_path / "other.db"))


@pytest.mark.skipif(not Path(DEBIAN).is_dir(), reason="WordNet is not installed")
@pytest.mark.parametrize(("name", "index"), [("adjectives", "index.adj"), ("adverbs", "index.adv")])
def test_installed_wordnet_is_read_completely(name: str, index: str) -> None:
    lines = (Path(DEBIAN) / index).read_text().splitlines()
    single = {line.split(" ")[0] for line in lines if not line.startswith(" ")}
    assert {word.lower() for word in getattr(word_lists(DEBIAN), name)} == {word for word in single if "_" not in word}
