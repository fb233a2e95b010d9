"""Files of texts and of links: what is read is what was written, and every mistake is named by its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from verax.align.files import read_links, read_one_file, read_two_files, write_links
from verax.align.protocol import TextPair
from verax.data.text import from_words, split_at_spaces, split_words
from verax.types import Links, UserError

LANGS = ("en", "fr")


def texts(*shapes: tuple[int, int]) -> list[TextPair]:
    return [TextPair(from_words(["a"] * n), from_words(["b"] * m)) for n, m in shapes]


def test_two_files_are_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\ufeffIt 's red .  \nNo !\n", "utf-8")
    (tmp_path / "b").write_text("C' est rouge .\r\nNon\u00a0! ?", "utf-8")
    first, second = read_two_files(tmp_path / "a", tmp_path / "b", split_at_spaces, LANGS)
    assert first.reference.words == ("It", "'s", "red", ".")
    assert (first.reference.lang, first.translation.lang) == LANGS
    assert first.translation.raw == "C' est rouge ."
    assert second.shape == (2, 3)
    assert first.sure is None


def test_one_file_has_both_texts_on_a_line(tmp_path: Path) -> None:
    (tmp_path / "both").write_text("It 's red .   ||| C' est rouge .  \na|b ||| c\n")
    first, second = read_one_file(tmp_path / "both", split_at_spaces, LANGS)
    assert (first.reference.raw, first.translation.raw) == ("It 's red .", "C' est rouge .")
    assert second.reference.words == ("a|b",)
    assert read_one_file(tmp_path / "both", split_words, LANGS)[1].reference.words == ("a", "|", "b")


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("a\nb\nc\n", "x\ny\n", r"/a has 3 lines and \S+/b 2 lines: line n of one must be translated by line n"),
        ("a\n", "", r"/a has 1 line and \S+/b 0 lines"),
        ("a\n  \nc\n", "x\ny\nz\n", r"/a:2: the line has no words"),
        ("a\nb\n", "x\n\n", r"/b:2: the line has no words"),
    ],
)
def test_files_that_do_not_fit(tmp_path: Path, one: str, other: str, said: str) -> None:
    (tmp_path / "a").write_text(one)
    (tmp_path / "b").write_text(other)
    with pytest.raises(UserError, match=said):
        read_two_files(tmp_path / "a", tmp_path / "b", split_at_spaces, LANGS)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a b c", r":2: expected two texts separated by \|\|\|, got 'a b c'"),
        ("a ||| b ||| c", r":2: expected two texts"),
        (" ||| b", r":2: the reference has no words"),
        ("a ||| ", r":2: the translation has no words"),
    ],
)
def test_a_line_that_is_no_pair(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "both").write_text(f"a ||| b\n{line}\n")
    with pytest.raises(UserError, match=said):
        read_one_file(tmp_path / "both", split_at_spaces, LANGS)


def test_links_come_back_as_they_were_written(tmp_path: Path) -> None:
    links: list[Links] = [((0, 0), (2, 1)), (), ((1, 0), (1, 1), (1, 2))]
    write_links(tmp_path / "links", links)
    assert (tmp_path / "links").read_text() == "0-0 2-1\n\n1-0 1-1 1-2\n"
    assert read_links(tmp_path / "links", texts((3, 2), (1, 1), (2, 3))) == [(one, ()) for one in links]


def test_possible_links_and_words_that_are_counted_from_1(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("2-2 1p1 1-2 2-2\n")
    assert read_links(tmp_path / "gold", texts((2, 2)), first=1) == [(((0, 1), (1, 1)), ((0, 0),))]


@pytest.mark.parametrize(
    ("content", "first", "said"),
    [
        ("0-0\n0-0 1-2\n", 0, ":2: link 1-2: word 2 of the translation is out of range 0 to 1"),
        ("0-0\n2-1\n", 0, ":2: link 2-1: word 2 of the reference is out of range 0 to 1"),
        ("0-1\n1-1\n", 1, ":1: link 0-1: word 0 of the reference is out of range 1 to 2"),
        ("0-0\n0-0 1:1\n", 0, ":2: expected links such as .*, got '1:1'"),
        ("0-0\n", 0, " has 1 line, but there are 2 pairs of texts"),
        ("0-0\n0-0\n\n", 0, " has 3 lines, but there are 2 pairs of texts"),
    ],
)
def test_links_that_do_not_fit(tmp_path: Path, content: str, first: int, said: str) -> None:
    (tmp_path / "links").write_text(content)
    with pytest.raises(UserError, match=f"/links{said}"):
        read_links(tmp_path / "links", texts((2, 2), (2, 2)), first=first)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing: cannot be read: No such file or directory"):
        read_links(tmp_path / "nothing", [])
    with pytest.raises(UserError, match="cannot be read"):
        read_one_file(tmp_path, split_at_spaces, LANGS)
    with pytest.raises(UserError, match="cannot be written"):
        write_links(tmp_path / "no" / "links", [])
    (tmp_path / "latin").write_bytes(b"caf\xe9 ||| x\n")
    with pytest.raises(UserError, match=r"latin:1: not UTF-8"):
        read_one_file(tmp_path / "latin", split_at_spaces, LANGS)
