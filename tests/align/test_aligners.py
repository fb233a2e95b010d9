"""Aligners that need no model: given, random, eflomal; and what all of them have in common."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verax.align
from verax.align.embedding import Embedding
from verax.align.given import Given
from verax.align.protocol import Aligner, TextPair
from verax.align.random import RandomLinks
from verax.cli.aligning import align
from verax.data.text import from_words, split_words
from verax.jobs.highlights.spec import HighlightsSpec
from verax.metrics.crosslingual_faithfulness import CrosslingualFaithfulness
from verax.registry import built_in, resolve
from verax.run.parameters import from_config
from verax.run.providers.alignment import RequestedAlignment
from verax.types import Links, Text, Undefined, UserError

LETTERS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9)
EMPTY = Text(" ", (), ())


def pair(reference: str, translation: str, sure: Links | None = None, possible: Links = ()) -> TextPair:
    return TextPair(split_words(reference), split_words(translation, "de"), sure, possible)


def links(aligner: Aligner, *pairs: TextPair) -> list[list[list[int]] | Undefined]:
    return [one if isinstance(one, Undefined) else one.tolist() for one in aligner.align(pairs)]


def test_one_aligner_is_the_default_everywhere() -> None:
    """Metric, product of a run, highlights and command: the embedding aligner with its own defaults, itermax."""
    highlights = from_config("aligners", HighlightsSpec.model_fields["aligner"].default, 0).component
    command = from_config("aligners", inspect.signature(align).parameters["aligner"].default, 0).component
    assert CrosslingualFaithfulness().aligner == RequestedAlignment().aligner == highlights == command == Embedding()
    assert Embedding().extract == "itermax"


def test_every_aligner_is_registered_once() -> None:
    found = []
    for file in Path(verax.align.__file__).parent.glob("*.py"):
        module = importlib.import_module(f"verax.align.{file.stem}")
        for name, thing in inspect.getmembers(module, inspect.isclass):
            if thing.__module__ == module.__name__ and "version" in vars(thing):
                found.append(f"{module.__name__}:{name}")
    assert sorted(found) == sorted(entry.target for entry in built_in("aligners").values())


@pytest.mark.parametrize("name", built_in("aligners"))
def test_aligners_are_frozen_dataclasses_that_work_as_they_are(name: str) -> None:
    made = resolve("aligners", name)()
    assert isinstance(made, Aligner)
    assert made == resolve("aligners", name)()
    assert made.reference == built_in("aligners")[name].reference
    assert from_config("aligners", name, 0).label == name
    for field in dataclasses.fields(made):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, field.name, None)


def test_given_links_are_those_of_the_data() -> None:
    one = pair("a b c", "x y", sure=((2, 1), (0, 0)), possible=((1, 0), (0, 0)))
    assert links(Given(), one) == [[[0, 0], [2, 1]]]
    assert links(Given(possible=True), one) == [[[0, 0], [1, 0], [2, 1]]]
    (nothing,) = Given().align([pair("a", "b", sure=())])
    assert isinstance(nothing, np.ndarray)
    assert nothing.shape == (0, 2)


def test_a_pair_without_links_does_not_take_the_others_with_it() -> None:
    missing, there = links(Given(), pair("a", "x"), pair("a", "x", sure=((0, 0),)))
    assert isinstance(missing, Undefined)
    assert missing.reason == "no_alignment"
    assert there == [[0, 0]]


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ((3, 0), "word 3 is out of range for the reference, which has 3"),
        ((0, 2), "word 2 is out of range for the translation, which has 2"),
    ],
)
def test_a_given_link_out_of_range_is_named(link: tuple[int, int], said: str) -> None:
    fine = pair("a", "x", sure=((0, 0),))
    with pytest.raises(UserError, match=f"pair 2: link {link[0]}-{link[1]}: {said}"):
        list(Given().align([fine, pair("a b c", "x y", sure=(link,))]))
    with pytest.raises(UserError, match="pair 1: link 0--1"):
        list(Given().align([pair("a", "x", sure=((0, -1),))]))
    assert links(Given(), pair("a b c", "x y", sure=((2, 1),), possible=(link,))) == [[[2, 1]]], "not asked for"
    with pytest.raises(UserError, match=said):
        list(Given(possible=True).align([pair("a b c", "x y", sure=(), possible=(link,))]))


@given(LETTERS, LETTERS, st.integers(0, 3))
def test_random_links_are_in_range_sorted_and_their_own(one: list[str], other: list[str], seed: int) -> None:
    this, that = TextPair(from_words(one), from_words(other)), TextPair(from_words(["q"]), from_words(["r", "s"]))
    alone, beside = links(RandomLinks(seed), this), links(RandomLinks(seed), that, this, that)
    assert alone == beside[1:2]
    (found,) = alone
    assert isinstance(found, list)
    assert found
    assert found == sorted(found)
    assert all(0 <= i < len(one) and 0 <= j < len(other) for i, j in found)
    assert len({tuple(link) for link in found}) == len(found)


def test_random_links_depend_on_seed_and_on_both_texts() -> None:
    one, other = "a b c d e f g h", "i j k l m n o p"
    base = links(RandomLinks(0), pair(one, other))
    assert base != links(RandomLinks(1), pair(one, other))
    assert base != links(RandomLinks(0), pair(one, other.replace("p", "z")))
    assert base != links(RandomLinks(0), pair(one.replace("a", "z"), other))


def test_random_links_say_nothing_about_the_words() -> None:
    """Over many texts each word is linked to each other one about as often."""
    counts = np.zeros((5, 5))
    for number in range(2000):
        (found,) = RandomLinks().align([pair(f"a b c d {number}", "v w x y z")])
        assert isinstance(found, np.ndarray)
        counts[found[:, 0], found[:, 1]] += 1
    # a binomial around 2000 p, p about 0.2 of the cells: five standard deviations
    mean = counts.mean()
    assert np.abs(counts - mean).max() < 5 * np.sqrt(mean)


def test_a_side_without_words_has_a_reason(fake_eflomal: Path) -> None:
    for aligner in (RandomLinks(), resolve("aligners", "eflomal")()):
        found = links(aligner, TextPair(EMPTY, split_words("x")), TextPair(split_words("x"), EMPTY), pair("a", "x"))
        assert [str(one) for one in found[:2]] == [
            "empty: the reference has no words",
            "empty: the translation has no words",
        ]
        assert found[2] == [[0, 0]]


FAKE = """#!{python}
import argparse, pathlib, sys
parser = argparse.ArgumentParser()
for short, name in (("-s", "--source"), ("-t", "--target"), ("-f", "--forward-links"), ("-r", "--reverse-links")):
    parser.add_argument(short, name, required=True)
asked = parser.parse_args()
texts = [pathlib.Path(path).read_text("utf-8") for path in (asked.source, asked.target)]
pathlib.Path({seen!r}).write_text("---\\n".join(texts), "utf-8")
if "fail" in texts[0]:
    sys.exit("Traceback\\nsomething is wrong")
with open(asked.forward_links, "w") as forward, open(asked.reverse_links, "w") as backward:
    for one, other in zip(*(text.splitlines() for text in texts)):
        n, m = len(one.split()), len(other.split())
        if "beyond" in one:
            n += 1
        print(*(f"{{min(j, n - 1)}}-{{j}}" for j in range(m)), file=forward)
        print(*(f"{{i}}-{{min(i, m - 1)}}" for i in range(n)), file=backward)
"""


@pytest.fixture
def fake_eflomal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program with the command line of the tool that links word n with word n; returns where it notes its input."""
    seen = tmp_path / "seen"
    script = tmp_path / "bin" / "eflomal-align"
    script.parent.mkdir()
    script.write_text(FAKE.format(python=sys.executable, seen=str(seen)))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(script.parent))
    return seen


def test_eflomal_is_handed_the_words_and_asked_for_both_directions(fake_eflomal: Path) -> None:
    odd = TextPair(from_words(["New York", "$(touch here)"]), from_words(["x", "y", "z"]))
    plain = pair("Wir gehen", "x")
    intersection, grown = (resolve("aligners", "eflomal")(how) for how in ("intersection", "grow_diag_final_and"))
    assert links(intersection, odd, plain) == [[[0, 0], [1, 1]], [[0, 0]]]
    assert fake_eflomal.read_text("utf-8") == "New_York $(touch_here)\nWir gehen\n---\nx y z\nx\n"
    assert links(grown, odd, plain) == [[[0, 0], [1, 1], [1, 2]], [[0, 0], [1, 0]]]


def test_eflomal_that_fails_is_quoted_in_one_line(fake_eflomal: Path) -> None:
    with pytest.raises(UserError, match=r"eflomal: .*eflomal-align ended with code 1: something is wrong"):
        links(resolve("aligners", "eflomal")(), pair("fail", "x"))
    with pytest.raises(UserError, match=r":2: link 1-0: word 1 of the reference is out of range"):
        links(resolve("aligners", "eflomal")(), pair("a", "x"), pair("beyond", "x"))


def test_eflomal_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(UserError, match=r"command eflomal-align not found; install it with: pip install eflomal"):
        links(resolve("aligners", "eflomal")(), pair("a", "x"))


def test_naming_aligners_imports_no_torch() -> None:
    code = (
        "import sys, verax.align.given, verax.align.random, verax.align.eflomal, verax.align.scores, verax.cli\n"
        "print(*({'torch', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
