from __future__ import annotations

import csv
import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verax.data.load import load_dataset
from verax.types import Human, Span, UserError

Write = Callable[[str, str | bytes], Path]
PAIR = {"premise": "A dog sleeps.", "hypothesis": "An animal rests.", "label": "yes"}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def jsonl(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def refusal(path: Path, **options: Any) -> str:
    """The one line that refuses a file, with the path cut to the file's name."""
    with pytest.raises(UserError) as caught:
        load_dataset(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(path), path.name)


# What is read


@pytest.mark.parametrize(
    ("columns", "maskable", "metric"),
    [
        ({}, None, "accuracy"),
        ({"maskable_part": "hypothesis", "metric": "macro_f1"}, (1,), "macro_f1"),
        ({"maskable_part": ["Premise"], "parts": ["hypothesis", "Premise"]}, (1,), "accuracy"),
        ({"maskable_part": ["hypothesis", "Premise"]}, (0, 1), "accuracy"),
    ],
)
def test_the_part_to_mask_and_the_metric_are_kept(
    write: Write, columns: dict[str, Any], maskable: tuple[int, ...] | None, metric: str
) -> None:
    path = write("a.jsonl", jsonl({"Premise": "A dog sleeps.", "hypothesis": "An animal rests."}))
    dataset = load_dataset(path, columns=columns)
    assert (dataset.maskable, dataset.metric) == (maskable, metric)


def test_a_pair_is_recognised_without_being_told(write: Write) -> None:
    dataset = load_dataset(write("a.jsonl", jsonl(PAIR, PAIR | {"label": "no"})))
    assert [instance.id for instance in dataset.instances] == ["1", "2"]
    first = dataset.instances[0]
    assert [part.words for part in first.parts] == [("A", "dog", "sleeps", "."), ("An", "animal", "rests", ".")]
    assert (first.label, first.lang, first.parallel_id, first.human) == ("yes", "en", None, None)
    assert dataset.labels == ("no", "yes")


@pytest.mark.parametrize(
    ("cells", "parts"),
    [
        ({"text": "a b", "other": "c"}, ["a b"]),
        ({"sentence2": "d", "sentence1": "c", "text": "e"}, ["c", "d"]),
        ({"Sentence1": "c", "Sentence2": "d", "gold_label": "x"}, ["c", "d"]),
        ({"question": "q", "sentence": "s"}, ["q", "s"]),
        ({"tokens": ["don", "'t"]}, ["don 't"]),
    ],
)
def test_known_columns_are_guessed(write: Write, cells: dict[str, Any], parts: list[str]) -> None:
    instance = load_dataset(write("a.jsonl", jsonl(cells))).instances[0]
    assert [part.raw for part in instance.parts] == parts
    assert instance.label == cells.get("gold_label")


def test_every_column_can_be_named(write: Write) -> None:
    row = {
        "q": "Is it red ?",
        "a": ["It", "is", "blue."],
        "k": "x7",
        "y": 1,
        "l": "fr",
        "p": 12,
        "gq": [3, 2],
        "ga": [],
        "pairs": [[[0, 2, 3], [1, 2, 3]]],
        "why": "because",
        "more": ["since", "as"],
    }
    columns = {
        "parts": ["q", "a"],
        "id": "k",
        "label": "y",
        "lang": "l",
        "parallel_id": "p",
        "gold_words": ["gq", "ga"],
        "span_pairs": "pairs",
        "explanations": ["why", "more"],
    }
    dataset = load_dataset(write("a.jsonl", jsonl(row)), columns=columns, labels=["no", "yes"])
    instance = dataset.instances[0]
    assert (instance.id, instance.label, instance.lang, instance.parallel_id) == ("x7", "yes", "fr", "12")
    assert instance.parts[1].words == ("It", "is", "blue.")
    assert {part.lang for part in instance.parts} == {"fr"}
    pair = (Span(0, 2, 3), Span(1, 2, 3))
    assert instance.human == Human(((2, 3), ()), (pair,), ("because", "since", "as"))
    assert dataset.labels == ("no", "yes")
    assert json.loads(dataset.provenance["columns"]) == columns


def test_text_in_a_words_column_is_split_at_white_space_alone(write: Write) -> None:
    path = write("a.csv", "text\nIt 's  well-known .\n")
    text = load_dataset(path, columns={"words": "text"}).instances[0].parts[0]
    assert text.words == ("It", "'s", "well-known", ".")
    assert text.raw == "It 's  well-known ."


@pytest.mark.parametrize(
    ("columns", "cells"),
    [
        ({"gold_words": ["g", "h"]}, {"g": [0, 2], "h": [1]}),
        ({"gold_words": "g"}, {"g": [[0, 2], [1]]}),
        ({"gold_mask": ["g", "h"]}, {"g": [1, 0, 1, 0], "h": [False, True, False, False]}),
        ({"gold_spans": ["g", "h"]}, {"g": [[2, 3], [0, 1]], "h": [[1, 2], [1, 2]]}),
        ({"gold_spans": "g"}, {"g": "[[[0, 1], [2, 3]], [[1, 2]]]"}),
        ({"gold_chars": ["g", "h"]}, {"g": [[0, 1], [8, 9]], "h": [[2, 9]]}),
        ({"gold_words": ["g", "h"]}, {"g": "[0, 2]", "h": "[1]"}),
    ],
)
def test_gold_words_come_as_numbers_masks_or_characters(
    write: Write, columns: dict[str, Any], cells: dict[str, Any]
) -> None:
    human = load_dataset(write("a.jsonl", jsonl(PAIR | cells)), columns=columns).instances[0].human
    assert human == Human(words=((0, 2), (1,)))


def test_gold_characters_mark_every_word_that_they_touch(write: Write) -> None:
    row = {"text": "one two three", "g": [[2, 9]]}
    human = load_dataset(write("a.jsonl", jsonl(row)), columns={"gold_chars": "g"}).instances[0].human
    assert human == Human(words=((0, 1, 2),))


@pytest.mark.parametrize(
    ("field", "value"), [("gold_words", [1, 2]), ("gold_mask", [0, 1, 1, 0]), ("gold_spans", [[1, 3]])]
)
def test_a_part_in_which_nothing_is_marked_needs_no_column(write: Write, field: str, value: Any) -> None:
    path = write("a.jsonl", jsonl(PAIR | {"g": value}, PAIR | {"g": None}))
    for fields, words in (([None, "g"], ((), (1, 2))), (["g", None], ((1, 2), ()))):
        dataset = load_dataset(path, columns={field: fields})
        assert [instance.human for instance in dataset.instances] == [Human(words=words), None]


def test_a_row_without_annotations_has_none(write: Write) -> None:
    path = write("a.jsonl", jsonl({"text": "a", "g": [0]}, {"text": "b", "g": None}, {"text": "c"}))
    dataset = load_dataset(path, columns={"gold_words": "g"})
    assert [instance.human for instance in dataset.instances] == [Human(words=((0,),)), None, None]


@pytest.mark.parametrize(
    ("values", "labels", "read", "names"),
    [
        (["b", "a", None, -1], None, ["b", "a", None, None], ("a", "b")),
        ([10, 9, -1], None, ["10", "9", None], ("9", "10")),
        ([1, 0, -1, None], ["neg", "pos"], ["pos", "neg", None, None], ("neg", "pos")),
        ([1.0, float("nan")], ["neg", "pos"], ["pos", None], ("neg", "pos")),
        (["1", "-1", ""], ["neg", "pos"], ["pos", None, None], ("neg", "pos")),
        ([1, 3], ["1", "2", "3"], ["1", "3"], ("1", "2", "3")),
        ([-1, 1], ["-1", "1"], ["-1", "1"], ("-1", "1")),
        (["pos"], ["pos", "neg"], ["pos"], ("pos", "neg")),
    ],
)
def test_labels_are_names_or_numbers(
    write: Write, values: list[Any], labels: list[str] | None, read: list[str | None], names: tuple[str, ...]
) -> None:
    path = write("a.jsonl", jsonl(*({"text": "a", "label": value} for value in values)))
    dataset = load_dataset(path, labels=labels)
    assert [instance.label for instance in dataset.instances] == read
    assert dataset.labels == names


def test_among_names_that_are_numbers_no_number_is_an_index(write: Write) -> None:
    path = write("a.jsonl", jsonl({"text": "a", "label": 0}))
    message = "a.jsonl:1: field 'label': unknown label '0'; valid: 1, 2, 3"
    assert refusal(path, labels=["1", "2", "3"]) == message


@pytest.mark.parametrize("text", ["", "   ", "\u0000", "\u200b"])
def test_blank_text_is_no_error_here(write: Write, text: str) -> None:
    part = load_dataset(write("a.jsonl", jsonl(PAIR | {"hypothesis": text}))).instances[0].parts[1]
    assert part.raw == text
    assert part.words == ()


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(write: Write) -> None:
    for name, content in (("a.csv", "text,label\r\nhi,x\r\n"), ("a.jsonl", '{"text": "hi", "label": "x"}\r\n\r\n')):
        instance = load_dataset(write(name, b"\xef\xbb\xbf" + content.encode())).instances[0]
        assert (instance.parts[0].raw, instance.label) == ("hi", "x")


def test_provenance_tells_where_the_rows_came_from(write: Write) -> None:
    path = write("a.jsonl", jsonl(PAIR))
    assert dict(load_dataset(path, split="dev").provenance) == {
        "path": str(path),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "split": "dev",
        "columns": '{"parts":["premise","hypothesis"],"label":"label"}',
    }


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv"])
def test_the_limit_stops_reading(write: Write, name: str) -> None:
    good = {"a.jsonl": '{"text": "a"}\n', "a.csv": "text\na\n", "a.tsv": "text\na\n"}[name]
    path = write(name, good.encode() + b"\xff\n")
    assert len(load_dataset(path, limit=1)) == 1
    assert "not UTF-8" in refusal(path, limit=2)


def test_the_limit_stops_reading_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"] * 2000 + [None]}), path)
    assert len(load_dataset(path, limit=2000)) == 2000
    assert refusal(path) == "a.parquet: row 2001: field 'text': expected text, got null"


# The same rows in every format

CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=20)
ROW = st.fixed_dictionaries(
    {
        "premise": CELL,
        "hypothesis": CELL,
        "label": st.sampled_from(["yes", "no", None]),
        "parallel": st.one_of(st.none(), st.integers(0, 9).map(str)),
        "why": st.one_of(st.none(), CELL.filter(bool)),
    }
)


def write_delimited(path: Path, rows: Sequence[dict[str, Any]], delimiter: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows([{k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ROW, min_size=1, max_size=6), st.data())
def test_the_same_rows_give_the_same_dataset_in_every_format(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "plain.jsonl")
        plain.write_text(jsonl(*rows), encoding="utf-8")
        for number, (row, instance) in enumerate(zip(rows, load_dataset(plain).instances, strict=True)):
            words = [range(len(part.words)) for part in instance.parts]
            row["id"] = f"row {number}"
            row["gold"] = [data.draw(st.lists(st.sampled_from(w), max_size=3)) if w else [] for w in words]
        paths = [Path(folder, f"rows.{suffix}") for suffix in ("jsonl", "csv", "tsv", "parquet")]
        paths[0].write_text(jsonl(*rows), encoding="utf-8")
        write_delimited(paths[1], rows, ",")
        write_delimited(paths[2], rows, "\t")
        schema = pa.schema([(k, pa.list_(pa.list_(pa.int64())) if k == "gold" else pa.string()) for k in rows[0]])
        pq.write_table(pa.Table.from_pylist(rows, schema), paths[3])
        columns = {"id": "id", "gold_words": "gold", "parallel_id": "parallel", "explanations": "why"}
        read = [load_dataset(path, columns=columns) for path in paths]
    for row, instance in zip(rows, read[0].instances, strict=True):
        assert [part.raw for part in instance.parts] == [row["premise"], row["hypothesis"]]
        assert (instance.id, instance.label, instance.parallel_id) == (row["id"], row["label"], row["parallel"])
        assert instance.human == Human(
            tuple(tuple(sorted(set(part))) for part in row["gold"]), None, (row["why"],) if row["why"] else ()
        )
    for other in read[1:]:
        assert other.instances == read[0].instances
        assert other.labels == read[0].labels


def test_a_quoted_csv_field_may_run_over_lines_and_lines_are_still_counted(write: Write) -> None:
    path = write("a.csv", 'text,label\n"one\ntwo, ""three""",x\n\nfour\n')
    assert load_dataset(path, limit=1).instances[0].parts[0].raw == 'one\ntwo, "three"'
    assert refusal(path) == "a.csv:5: expected 2 fields, got 1"


JSON_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 5) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=6,
)
FIELDS = ("text", "label", "k", "l", "p", "g", "s", "e")


def read_or_refused(name: str, content: bytes, columns: dict[str, Any] | None = None) -> None:
    message = ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        try:
            assert len(load_dataset(path, columns=columns)) > 0
        except UserError as error:
            message = str(error)
    assert "\n" not in message


@settings(deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON_VALUE), min_size=1, max_size=3),
    st.sampled_from(["gold_words", "gold_mask", "gold_spans", "gold_chars"]),
)
def test_any_json_is_read_or_refused_on_one_line(rows: list[dict[str, Any]], gold: str) -> None:
    columns = {"id": "k", "lang": "l", "parallel_id": "p", gold: "g", "span_pairs": "s", "explanations": "e"}
    content = "".join(json.dumps({"text": "a b"} | row) + "\n" for row in rows)
    read_or_refused("a.jsonl", content.encode(), columns)


@settings(deadline=None)
@given(st.sampled_from(["a.jsonl", "a.csv", "a.tsv", "a.parquet"]), st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_on_one_line(name: str, content: bytes) -> None:
    start = b"" if name in ("a.jsonl", "a.parquet") else b"text\n"
    read_or_refused(name, start + content)


# What is refused: each message names its line and field


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"hypothesis": None}, "field 'hypothesis': expected text, got null"),
        ({"hypothesis": 3}, "field 'hypothesis': expected text, got the number 3"),
        ({"hypothesis": {"a": 1}}, "field 'hypothesis': expected text, got an object"),
        ({"hypothesis": ["a", 3]}, "field 'hypothesis': expected a list of words, got the number 3"),
        ({"hypothesis": ["a", ""]}, "field 'hypothesis': word 1 is empty"),
        ({"hypothesis": "a\ud800"}, "field 'hypothesis': character 1 is half a surrogate pair (U+D800)"),
        ({"label": True}, "field 'label': expected the name or index of a class, got true"),
        ({"label": 0.5}, "field 'label': expected the name or index of a class, got the number 0.5"),
        ({"label": "yess"}, "field 'label': unknown label 'yess'; did you mean 'yes'?"),
        ({"label": 7}, "field 'label': class index 7 is out of range for 2 labels (from 0)"),
        ({"k": "a"}, "field 'k': 'a' is already the id of line 1"),
        ({"k": None}, "field 'k': expected an id, got an empty value"),
        ({"k": True}, "field 'k': expected text or an integer, got true"),
        ({"k": 1.5}, "field 'k': expected text or an integer, got the number 1.5"),
        ({"g": [4]}, "field 'g': word index 4 is out of range for the 4 words of the text (from 0)"),
        ({"g": [-1]}, "field 'g': word index -1 is out of range for the 4 words of the text (from 0)"),
        ({"g": [True]}, "field 'g': expected a word index, got true"),
        ({"g": ["dog"]}, "field 'g': expected a word index, got the text 'dog'"),
        ({"g": None}, "field 'g': expected a list of word indices ([] if nothing is highlighted), got null"),
        ({"g": "[1"}, "field 'g': not JSON: Expecting ',' delimiter at column 3"),
        ({"s": 1}, "field 's': expected a list of span pairs, got the number 1"),
        ({"s": [[[0, 0, 1]]]}, "field 's': expected a pair of spans, got a list of 1"),
        ({"s": [[[0, 0, 1], [1, 2]]]}, "field 's': expected a span [part, start, end], got a list of 2"),
        ({"s": [[[0, 0, 1], [2, 0, 1]]]}, "field 's': part 2 is out of range for 2 parts (from 0)"),
        ({"s": [[[0, 0, 1], [1, 2, 9]]]}, "field 's': [2, 9] is outside the 4 words of part 1"),
        ({"e": 3}, "field 'e': expected text or a list of texts, got the number 3"),
    ],
)
def test_a_malformed_row_is_named_by_line_and_field(write: Write, row: dict[str, Any], message: str) -> None:
    good = PAIR | {"k": "a", "g": [0], "h": [], "s": [], "e": "why"}
    lines = [json.dumps(good), "", json.dumps(good | {"k": "b"} | row)]
    columns = {"id": "k", "gold_words": ["g", "h"], "span_pairs": "s", "explanations": "e"}
    path = write("a.jsonl", "\n".join(lines))
    assert len(load_dataset(path, columns=columns, labels=["yes", "no"], limit=1)) == 1
    assert refusal(path, columns=columns, labels=["yes", "no"]).startswith(f"a.jsonl:3: {message}")


@pytest.mark.parametrize(
    ("columns", "value", "message"),
    [
        ("gold_mask", [1], "expected one entry for each of the 2 words of the text, got 1"),
        ("gold_mask", [1, 2], "expected 0 or 1, got the number 2"),
        ("gold_spans", [3], "expected a pair [start, end], got the number 3"),
        ("gold_spans", [[0, 1, 2]], "expected a pair [start, end], got a list of 3"),
        ("gold_spans", [[0, True]], "expected a word index, got true"),
        ("gold_spans", [[1, 3]], "[1, 3] is outside the 2 words of the text"),
        ("gold_spans", [[-1, 1]], "[-1, 1] is outside the 2 words of the text"),
        ("gold_spans", [[1, 1]], "[1, 1] is outside the 2 words of the text"),
        ("gold_chars", [3], "expected a pair [start, end], got the number 3"),
        ("gold_chars", [[3]], "expected a pair [start, end], got a list of 1"),
        ("gold_chars", [[0, 9]], "[0, 9] is outside the 5 characters of the text"),
        ("gold_chars", [[2, 3]], "[2, 3] covers no word of the text"),
        ("gold_chars", [[1, 1]], "[1, 1] covers no word of the text"),
    ],
)
def test_gold_that_does_not_fit_the_words_is_refused(write: Write, columns: str, value: Any, message: str) -> None:
    path = write("a.jsonl", jsonl({"text": "ab cd", "g": value}))
    assert refusal(path, columns={columns: "g"}) == f"a.jsonl:1: field 'g': {message}"


def test_one_gold_column_for_two_parts_holds_two_lists(write: Write) -> None:
    path = write("a.jsonl", jsonl(PAIR | {"g": [[0]]}))
    message = "a.jsonl:1: field 'g': expected a list for each of the 2 parts, got a list of 1"
    assert refusal(path, columns={"gold_words": "g"}) == message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a",}', "not JSON: "),
        ('["a"]', "expected an object, got a list of 1"),
        ("[" * 100_000, "unreadable JSON: nested too deeply"),
        ('{"text": ' + "1" * 5000 + "}", "unreadable JSON: a number is too long"),
    ],
)
def test_a_line_that_is_no_json_object_is_refused(write: Write, line: str, message: str) -> None:
    assert refusal(write("a.jsonl", f'{{"text": "a"}}\n{line}\n')).startswith(f"a.jsonl:2: {message}")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv"])
def test_a_file_that_is_not_utf8_is_refused(write: Write, name: str) -> None:
    start = b'{"text": "a"}\n' if name == "a.jsonl" else b"text\n"
    assert refusal(write(name, start + b"caf\xe9\n")) == f"{name}:2: not UTF-8: byte 0xe9 at column 4"


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl", "\n\n"), ("a.csv", ""), ("a.tsv", "text\n"), ("b.jsonl", "")]
)
def test_an_empty_file_is_refused(write: Write, name: str, content: str) -> None:
    assert refusal(write(name, content)) == f"{name}: contains no rows"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_row_with_the_wrong_number_of_fields_is_refused(write: Write, name: str) -> None:
    rows = [["text", "label"], ["a", "x"], ["b", "x", "y"]]
    content = "".join(("," if name == "a.csv" else "\t").join(row) + "\n" for row in rows)
    assert refusal(write(name, content)) == f"{name}:3: expected 2 fields, got 3"


def test_a_column_that_is_there_twice_is_refused(write: Write) -> None:
    assert refusal(write("a.csv", "text,text\na,b\n")) == "a.csv:1: duplicate column 'text'"


def test_an_open_quotation_mark_in_tsv_swallows_no_rows(write: Write) -> None:
    path = write("a.tsv", 'text\tlabel\na\tx\n"b\tx\nc"\tx\n')
    assert refusal(path).startswith("a.tsv:3: not well-formed: ")


def test_an_open_quotation_mark_in_csv_is_refused(write: Write) -> None:
    assert refusal(write("a.csv", 'text,label\na,x\n"b,x\n')).startswith("a.csv:3: not well-formed: ")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
@pytest.mark.parametrize("field", ["label", "lang", "parallel_id", "gold_words", "span_pairs", "explanations"])
def test_a_column_that_is_nowhere_is_refused_with_the_nearest(write: Write, name: str, field: str) -> None:
    content = jsonl({"text": "a", "verdict": ""}) if name == "a.jsonl" else "text,verdict\na,\n"
    path = write(name, content)
    assert refusal(path, columns={field: "verdct"}) == f"{name}: unknown column 'verdct'; did you mean 'verdict'?"


@pytest.mark.parametrize("field", ["parts", "id"])
def test_a_missing_column_that_each_row_needs_is_refused_with_the_nearest(write: Write, field: str) -> None:
    path = write("a.jsonl", jsonl({"text": "a"}))
    assert refusal(path, columns={field: "txt"}) == "a.jsonl:1: unknown column 'txt'; did you mean 'text'?"


def test_a_missing_second_part_is_refused(write: Write) -> None:
    path = write("a.jsonl", jsonl(PAIR, {"premise": "A dog sleeps.", "label": "yes"}))
    assert refusal(path).startswith("a.jsonl:2: unknown column 'hypothesis'; ")


def test_columns_that_nobody_can_guess_are_listed(write: Write) -> None:
    message = "a.csv: cannot tell which columns hold the text; available: 'x', 'y'; set columns: {parts: [...]}"
    assert refusal(write("a.csv", "x,y\na,b\n")) == message


def test_parquet_rows_and_broken_parquet_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", "b"], "k": ["x", "x"]}), path)
    assert refusal(path, columns={"id": "k"}).startswith("a.parquet: row 2: field 'k': 'x' is already the id of row 1")
    path.write_bytes(path.read_bytes()[:-20])
    assert refusal(path).startswith("a.parquet: unreadable Parquet file after row 0: ")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"lable": "x"}, "columns: unknown field 'lable'; did you mean 'label'?"),
        ({"label": 3}, "columns.label: Input should be a valid string, got 3"),
        ({"gold_words": "g", "gold_mask": "h"}, "columns: gold_words and gold_mask exclude each other; give only one"),
        ({"gold_words": ["g", "h"]}, "columns: gold_words has 2 columns for 1 parts"),
        ({"gold_spans": [None]}, "columns: gold_spans names no column"),
        ({"words": ["g"]}, "columns: words: 'g' is not one of parts ['text']"),
        ({"maskable_part": "txt"}, "columns: maskable_part: 'txt' is not one of parts ['text']"),
        ({"maskable_part": "b", "parts": "text"}, "columns: maskable_part: 'b' is not one of parts ['text']"),
        ({"metric": "acuracy"}, "columns.metric: unknown metric 'acuracy'; did you mean 'accuracy'?"),
        (
            {"metric": 3},
            "columns.metric: unknown metric '3'; valid: accuracy, macro_f1, matthews, micro_f1",
        ),
    ],
)
def test_a_mistake_in_the_columns_is_refused(write: Write, columns: dict[str, Any], message: str) -> None:
    assert refusal(write("a.jsonl", jsonl({"text": "a"})), columns=columns) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "limit: expected at least 1, got 0"),
        ({"labels": ["a", "a"]}, "labels: duplicate name 'a'"),
        ({"labels": [0, 1]}, "labels: expected names, got the number 0"),
        ({"labels": [False]}, "labels: expected names, got false (YAML reads yes and no as booleans; quote them)"),
        ({"labels": "ab"}, "labels: expected a list of names, got the text 'ab'"),
        ({"revision": "main"}, "revision: not supported here, since a.jsonl is a file; got 'main'"),
    ],
)
def test_a_mistake_in_the_options_is_refused(write: Write, options: dict[str, Any], message: str) -> None:
    assert refusal(write("a.jsonl", jsonl({"text": "a"})), **options) == message


def test_a_file_of_another_kind_is_refused(write: Write) -> None:
    message = "a.xlsx: unsupported file type '.xlsx'; valid: .jsonl, .csv, .tsv, .parquet"
    assert refusal(write("a.xlsx", "x")) == message


def test_a_file_that_is_not_there_is_refused_with_the_nearest(write: Write, tmp_path: Path) -> None:
    path = write("train.jsonl", "")
    message = f"no such file: trian.jsonl; did you mean {str(path)!r}?"
    assert refusal(tmp_path / "trian.jsonl") == message
    assert refusal(tmp_path / "no" / "where.jsonl") == "no such file: where.jsonl"


@pytest.mark.parametrize(
    ("column", "value"),
    [("gold_words", [1]), ("gold_mask", [0, 1, 0]), ("gold_spans", [[1, 2]]), ("Gold_Chars", [[2, 5]])],
)
def test_a_column_named_like_a_field_of_gold_words_is_read(tmp_path: Path, column: str, value: list[Any]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"text": "a bad day", column: value, "marked": [0]}))
    assert load_dataset(path).instances[0].annotated == {(0, 1)}
    assert load_dataset(path, columns={"gold_words": "marked"}).instances[0].annotated == {(0, 0)}
