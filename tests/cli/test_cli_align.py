"""`verax align`, as a person meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import regex

from support.cli import CallVerax
from verax.align.embedding import Embedding
from verax.align.protocol import TextPair
from verax.align.random import RandomLinks
from verax.data.segmenters import SEGMENTERS
from verax.data.text import Segmenter, split_at_spaces
from verax.models.load import load_encoder
from verax.types import Undefined

ENGLISH = "the small red boat\nnobody is watching .\n"
GERMAN = "das kleine rote Boot\nniemand sieht zu .\n"


@pytest.fixture
def align(verax: CallVerax, monkeypatch: pytest.MonkeyPatch) -> CallVerax:
    """Call the command in a folder with two files of texts."""
    monkeypatch.setenv("COLUMNS", "80")
    Path("a").write_text(ENGLISH)
    Path("b").write_text(GERMAN)
    lines = zip(ENGLISH.splitlines(), GERMAN.splitlines(), strict=True)
    Path("both").write_text("".join(f"{one} ||| {other}\n" for one, other in lines))
    return partial(verax, "align")


def test_links_by_an_encoder(align: CallVerax, checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("bert")
    lines = zip(ENGLISH.splitlines(), GERMAN.splitlines(), strict=True)
    pairs = [TextPair(split_at_spaces(one), split_at_spaces(other)) for one, other in lines]
    found = list(Embedding(layer=2, extract="itermax").align_with(load_encoder(folder), pairs))
    expected = "".join(
        " ".join(f"{i}-{j}" for i, j in links) + "\n" for links in found if not isinstance(links, Undefined)
    )
    options = ("--encoder", folder, "--layer", "2", "--extract", "itermax")
    said = align("--source", "a", "--target", "b", *options)
    assert said.code == 0, said.err
    assert said.out == expected
    assert "2/2" in said.err
    assert align("both", *options).out == expected
    assert json.loads(align("both", *options, "--json").out) == [
        links.tolist() for links in found if not isinstance(links, Undefined)
    ]
    assert align("both", *options, "--out", "links").out == ""
    assert Path("links").read_text() == expected
    softmax = ("both", "--encoder", folder, "--extract", "softmax")
    assert len(align(*softmax, "--threshold", "0.4").out.split()) < len(align(*softmax).out.split())


def test_links_of_another_tool_are_measured(align: CallVerax) -> None:
    Path("links").write_text("1-1 2-3\n1-1 4-4\n")
    Path("gold").write_text("1-1 2-2 2p3\n1-1 3p2\n")
    both = ("--one-based", "links", "--one-based", "gold")
    said = align("both", "--aligner", "given", "--links", "links", "--gold", "gold", *both)
    assert said.code == 0, said.err
    heads, row = (line.split() for line in said.out.splitlines() if "aligner" in line or "given" in line)
    assert heads == ["aligner", "precision", "recall", "F1", "AER", "links", "pairs", "skipped"]
    assert row == ["given", "0.750", "0.667", "0.706", "0.286", "4", "2", "0"]  # 3 of 4, 2 of 3, 1 - (2 + 3) / (4 + 3)
    exact = json.loads(align("both", "--aligner", "given", "--links", "links", "--gold", "gold", *both, "--json").out)
    assert exact["aer"] == pytest.approx(2 / 7)
    assert exact["precision"] == 3 / 4


def test_each_file_says_where_it_begins_to_count(align: CallVerax) -> None:
    Path("links").write_text("0-0 1-2\n0-0 3-3\n")
    Path("gold").write_text("1-1 2-2 2p3\n1-1 3p2\n")
    told = ("both", "--aligner", "given", "--links", "links", "--gold", "gold", "--json")
    assert json.loads(align(*told, "--one-based", "gold").out)["aer"] == pytest.approx(2 / 7)
    assert "neither the file of --gold nor that of --links" in align(*told, "--one-based", "other").err


def test_an_ideographic_space_is_a_word(align: CallVerax) -> None:
    """Between two spaces, or at either end; links count it, and those behind it would otherwise be one off."""
    Path("pair").write_text("a b c ||| 甲 \u3000 乙\na b c ||| \u3000 甲 \u3000\n", "utf-8")
    Path("links").write_text("0-0 1-1 2-2\n" * 2)
    said = align("pair", "--aligner", "given", "--links", "links", "--gold", "links", "--json")
    assert json.loads(said.out)["links"] == 6


def test_possible_links_count_if_one_says_so(align: CallVerax) -> None:
    Path("links").write_text("0-0 1p1\n\n")
    given = ("both", "--aligner", "given", "--links", "links")
    assert align(*given).out == "0-0\n\n"
    assert align(*given, "--possible").out == "0-0 1-1\n\n"


def test_random_links_by_seed(align: CallVerax) -> None:
    random = ("both", "--aligner", "random")
    assert align(*random).out == align(*random, "--seed", "0").out
    assert len({align(*random, "--seed", str(seed)).out for seed in range(4)}) > 1


def test_words_as_data_is_split(align: CallVerax) -> None:
    Path("glued").write_text("no,no ||| nein,nein\n")
    Path("links").write_text("2-2\n")
    given = ("glued", "--aligner", "given", "--links", "links")
    assert ":1: link 2-2: word 2 of the reference is out of range" in align(*given).err
    assert align(*given, "--words", "split", "--lang", "de").out == "2-2\n"


def test_words_without_spaces_as_data_is_split(align: CallVerax, monkeypatch: pytest.MonkeyPatch) -> None:
    halves = Segmenter("halves", regex.compile(r"\p{Han}"), lambda run: (run[:2], run[2:]))
    monkeypatch.setitem(SEGMENTERS, "zh", lambda: halves)
    Path("chinese").write_text("I like Peking ||| 喜欢北京\n")
    Path("links").write_text("2-1\n")
    Path("far").write_text("2-2\n")
    split = ("chinese", "--aligner", "given", "--words", "split", "--lang", "zh", "--links")
    assert align(*split, "links").out == "2-1\n"
    assert "word 2 of the translation is out of range 0 to 1" in align(*split, "far").err


@pytest.mark.parametrize("place", [".", "..", "kept", ""])
def test_a_folder_is_no_file_to_write_and_told_before_the_work(
    align: CallVerax, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    Path("kept").mkdir()
    monkeypatch.setattr(RandomLinks, "align", lambda *_: pytest.fail("it was aligned"))
    said = align("both", "--aligner", "random", "--out", place)
    assert (said.code, said.out) == (2, "")
    assert said.err == f"error: --out: {str(Path(place))!r} is a folder; name a file\n"


@pytest.fixture
def parallel(tmp_path: Path) -> Path:
    """A spec of two inputs of two parts in English and German, with links of the first one."""
    linked = {"premise_links": "0-0 1p1 2-2", "hypothesis_links": "1-1"}
    rows = [
        {"id": "1-en", "row": 1, "lang": "en", "premise": "the red boat", "hypothesis": "a lake"},
        {"id": "1-de", "row": 1, "lang": "de", "premise": "das rote Boot", "hypothesis": "ein See", **linked},
        {"id": "2-de", "row": 2, "lang": "de", "premise": "der Wind", "hypothesis": "er weht"},
        {"id": "2-en", "row": 2, "lang": "en", "premise": "the wind", "hypothesis": "blows"},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps({**row, "label": "yes"}) for row in rows))
    parts = ["premise", "hypothesis"]
    columns = {"parts": parts, "id": "id", "lang": "lang", "parallel_id": "row"}
    columns["alignment"] = [f"{part}_links" for part in parts]
    data = {"name": str(tmp_path / "rows.jsonl"), "columns": columns}
    (tmp_path / "spec.yaml").write_text(json.dumps({"model": "m", "data": data, "metrics": ["complexity"]}))
    return tmp_path / "spec.yaml"


def test_a_parallel_data_set(align: CallVerax, parallel: Path) -> None:
    data = ("--data", parallel, "--lang", "de")
    said = align(*data, "--aligner", "random", "--out", "links")
    assert said.code == 0, said.err
    lines = Path("links").read_text().splitlines()
    assert len(lines) == 4, "a line for each part"
    assert all(lines)
    assert "Wrote links: " in said.err
    measured = json.loads(align(*data, "--aligner", "random", "--gold", "links", "--json").out)
    assert (measured["aer"], measured["pairs"], measured["skipped"]) == (0, 4, 0)


def test_the_data_of_a_spec_may_stand_alone(align: CallVerax, parallel: Path) -> None:
    whole = json.loads(parallel.read_text())
    Path("data.yaml").write_text(json.dumps({"data": whole["data"]}))
    said = align("--data", "data.yaml", "--lang", "de", "--aligner", "random")
    assert said.code == 0, said.err
    assert said.out == align("--data", parallel, "--lang", "de", "--aligner", "random").out
    Path("data.yaml").write_text(json.dumps({"data": {**whole["data"], "colums": {}}}))
    assert "unknown field 'data.colums'" in align("--data", "data.yaml", "--lang", "de").err


def test_pairs_that_can_not_be_aligned_are_counted(align: CallVerax, parallel: Path) -> None:
    Path("gold").write_text("0-0\n" * 4)
    said = align("--data", parallel, "--lang", "de", "--aligner", "given", "--gold", "gold", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)  # 0-0 2-2, 1-1, and twice nothing
    assert found == pytest.approx(
        {"precision": 1 / 3, "recall": 1 / 4, "f1": 2 / 7, "aer": 1 - 2 / 7, "links": 3, "pairs": 4, "skipped": 2}
        | {"aligner": "given"}
    )
    assert "not aligned: 2 pairs (no_alignment); the first is pair 3" in said.err


def test_links_of_the_data_are_gold(align: CallVerax, parallel: Path) -> None:
    data = ("--data", parallel, "--lang", "de", "--gold", "data")
    said = align(*data, "--aligner", "random")
    assert (said.code, said.out) == (2, "")
    assert "--gold data: 2 of 4 pairs came without links" in said.err
    rows = (parallel.parent / "rows.jsonl").read_text().splitlines()
    (parallel.parent / "rows.jsonl").write_text("\n".join((rows[0], rows[1])))
    found = json.loads(align(*data, "--aligner", "given", "--possible", "--json").out)
    assert (found["precision"], found["recall"], found["aer"], found["links"]) == (1, 1, 0, 4)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("both", "--aligner", "embeding"), "unknown aligner 'embeding'; did you mean 'embedding'?"),
        (("both",), "embedding: encoder: expected a folder, a hub id or a shipped model (verax list models)"),
        (("both", "--encoder", "./nowhere"), "there is no folder './nowhere'"),
        (("both", "--aligner", "random", "--layer", "2"), "random: unknown parameter 'layer'; valid: seed"),
        (
            ("both", "--extract", "max"),
            "embedding: extract: input should be 'softmax', 'argmax' or 'itermax', got 'max'",
        ),
        (("--source", "a", "--target", "short"), "a has 2 lines and short 1 line: line n of one"),
        (("--source", "a", "--target", "blank"), "blank:2: the line has no words"),
        (("--source", "a"), "--target is missing: give both --source and --target"),
        ((), "name the texts in one way"),
        (("both", "--source", "a", "--target", "b"), "name the texts in one way"),
        (("empty", "--aligner", "random"), "there is no text to align: the input is empty"),
        (
            ("both", "--aligner", "random", "--gold", "far"),
            "far:2: link 0-9: word 9 of the translation is out of range",
        ),
        (("both", "--aligner", "random", "--gold", "short"), "short has 1 line, but there are 2 pairs of texts"),
        (("both", "--aligner", "random", "--gold", "data"), "--gold data: 2 of 2 pairs came without links"),
        (("both", "--aligner", "random", "--links", "far"), "--links: random makes links of its own"),
        (("both", "--aligner", "given"), "given: these files bring no links"),
        (("both", "--aligner", "random", "--words", "space"), "--words: unknown way 'space'; did you mean 'spaces'?"),
        (("both", "--aligner", "random", "--words", "split"), "--lang: --words split needs the language"),
        (("both", "--aligner", "random", "--out", "no/links"), "--out: 'no/links' is in a folder that does not exist"),
        (("--data", "spec.yaml", "--aligner", "random"), "--lang: name the language of --data"),
        (("--data", "spec.yaml", "--aligner", "random", "--lang", "fr"), "unknown language 'fr'; valid: de, en"),
        (
            ("--data", "spec.yaml", "--aligner", "random", "--lang", "de", "--words", "split"),
            "--data has words of its own",
        ),
    ],
)
@pytest.mark.usefixtures("parallel")
def test_mistakes_are_one_line(align: CallVerax, args: tuple[str, ...], said: str) -> None:
    Path("short").write_text("x\n")
    Path("blank").write_text("x\n \n")
    Path("empty").write_text("")
    Path("far").write_text("0-0\n0-9\n")
    ended = align(*args)
    assert ended.code == 2
    assert said in ended.err
    (line,) = [line for line in ended.err.splitlines() if line.strip()]
    assert line.startswith("error: ")
    assert ended.out == ""


def test_aligners_are_listed(verax: CallVerax) -> None:
    listed = json.loads(verax("list", "aligners", "--format", "json").out)
    assert [row["name"] for row in listed] == ["random", "given", "embedding", "eflomal"]
