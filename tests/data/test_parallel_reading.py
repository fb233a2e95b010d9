"""Data in several languages: how it is named, which rows are read, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.published import refusal, write_jsonl
from verax.data.load import load_dataset
from verax.run.spec import parse_spec
from verax.types import Dataset, UserError

TEXTS = {"en": "The dog {} sleeps.", "de": "Der Hund {} schläft.", "es": "El perro {} duerme."}
LABELS = ("entailment", "neutral")


def rows(lang: str, *numbers: int, **cells: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{lang}-{n}",
            "parallel_id": f"p{n}",
            "lang": lang,
            "premise": TEXTS[lang].format(n),
            "hypothesis": "x",
            "label": LABELS[n % 2],
        }
        | cells
        for n in numbers
    ]


def without(given: list[dict[str, Any]], *fields: str) -> list[dict[str, Any]]:
    return [{field: value for field, value in row.items() if field not in fields} for row in given]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def three() -> None:
    for lang in TEXTS:
        write_jsonl(Path(f"test.{lang}.jsonl"), *rows(lang, 0, 1, 2, 3))


def ids(dataset: Dataset) -> list[str]:
    return [instance.id for instance in dataset.instances]


# How it is named


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    "name",
    [
        "test.*.jsonl",
        "./test.??.jsonl",
        ["test.de.jsonl", "test.en.jsonl", "test.es.jsonl"],
        [Path("test.de.jsonl"), "test.e*.jsonl"],
        "test.de.jsonl, test.en.jsonl,test.es.jsonl",
    ],
)
def test_several_files_are_one_dataset(name: Any) -> None:
    dataset = load_dataset(name)
    assert ids(dataset) == [f"{lang}-{n}" for lang in ("de", "en", "es") for n in range(4)]
    assert {instance.parallel_id for instance in dataset.instances} == {"p0", "p1", "p2", "p3"}
    assert [instance.lang for instance in dataset.instances[::4]] == ["de", "en", "es"]
    assert dataset.labels == LABELS
    assert dataset.provenance["langs"] == "de, en, es"
    assert dataset.provenance["path"] == "test.de.jsonl, test.en.jsonl, test.es.jsonl"
    assert len(dataset.provenance["sha256"].split(", ")) == 3


@pytest.mark.usefixtures("three")
def test_a_spec_names_several_files_by_a_list() -> None:
    spec = parse_spec(
        {
            "model": "m",
            "metrics": ["comprehensiveness"],
            "data": {"name": ["test.en.jsonl", "test.de.jsonl"], "langs": ["de"], "missing": "skip"},
        }
    )
    dataset = load_dataset(spec.data.name, langs=spec.data.langs, missing=spec.data.missing)
    assert ids(dataset) == ["de-0", "de-1", "de-2", "de-3"]
    with pytest.raises(UserError, match=r"data\.name: a file among several may have no comma in its name, got 'a,b'"):
        parse_spec({"model": "m", "metrics": ["comprehensiveness"], "data": {"name": ["a,b", "c"]}})


@pytest.mark.usefixtures("three")
def test_a_pattern_that_one_file_matches_is_that_file() -> None:
    assert ids(load_dataset("*.es.jsonl", limit=2)) == ["es-0", "es-1"]


def test_a_file_whose_name_has_a_comma_or_a_bracket_is_itself() -> None:
    for name in ("a,b.jsonl", "a[1].jsonl"):
        write_jsonl(Path(name), *rows("en", 0))
        assert ids(load_dataset(name)) == ["en-0"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("*.csv", "no file matches '*.csv'"),
        (["test.en.jsonl", "nowhere.jsonl"], "no such file: nowhere.jsonl"),
        (["test.en.jsonl", "."], "data: . is a folder; a list of several names may only contain files"),
        (["test.en.jsonl", "test.en.jsonl"], "test.en.jsonl:1: field 'parallel_id': duplicate 'p0' in en"),
    ],
)
def test_a_name_that_stands_for_no_files_is_refused(name: Any, message: str) -> None:
    write_jsonl(Path("test.en.jsonl"), *rows("en", 0))
    write_jsonl(Path("test.de.jsonl"), *rows("de", 0))
    if isinstance(name, list) and name[0] == name[1]:
        name = [*name, "test.de.jsonl"]
    assert refusal(name).startswith(message)


def test_the_language_is_taken_from_the_names_of_files_that_differ_in_nothing_else() -> None:
    for lang in ("en", "de"):
        write_jsonl(Path(f"test.{lang}.jsonl"), *without(rows(lang, 0, 1), "lang", "id"))
    dataset = load_dataset("test.*.jsonl")
    assert ids(dataset) == ["p0/de", "p1/de", "p0/en", "p1/en"]
    assert {part.lang for instance in dataset.instances[:2] for part in instance.parts} == {"de"}


def test_what_a_row_says_of_its_language_goes_before_the_name_of_its_file() -> None:
    write_jsonl(Path("test.en.jsonl"), {"text": "a"}, {"text": "b", "language": "sw"}, {"text": "c", "lang": "ur"})
    write_jsonl(Path("test.de.jsonl"), {"text": "d", "language": ""})
    dataset = load_dataset(["test.en.jsonl", "test.de.jsonl"])
    assert [instance.lang for instance in dataset.instances] == ["en", "sw", "ur", "de"]


@pytest.mark.parametrize(
    "names",
    [
        ("it.en.jsonl", "ab.de.jsonl"),
        ("one/x.jsonl", "two/x.jsonl"),
        ("en.jsonl", "en.more.jsonl"),
        ("a.1.jsonl", "a.2.jsonl"),
    ],
)
def test_files_that_differ_in_more_than_a_language_have_the_language_of_the_data(names: tuple[str, str]) -> None:
    for name in names:
        Path(name).parent.mkdir(exist_ok=True)
        write_jsonl(Path(name), {"text": "a"})
    assert [instance.lang for instance in load_dataset(names, lang="fr").instances] == ["fr", "fr"]


def test_files_of_one_language_are_read_one_after_the_other() -> None:
    write_jsonl(Path("part.1.jsonl"), {"text": "a", "label": "x"})
    write_jsonl(Path("part.2.jsonl"), {"text": "b", "label": "y"})
    dataset = load_dataset("part.*.jsonl")
    assert [(x.id, x.lang, x.parts[0].raw) for x in dataset.instances] == [("1", "en", "a"), ("2", "en", "b")]


# Tables of one's own


def test_a_table_with_parallel_ids_needs_no_columns() -> None:
    write_jsonl(Path("a.jsonl"), *rows("en", 0, 1), *rows("de", 1, 0))
    dataset = load_dataset("a.jsonl")
    assert ids(dataset) == ["en-0", "en-1", "de-1", "de-0"]
    assert [(x.lang, x.parallel_id) for x in dataset.instances[1:3]] == [("en", "p1"), ("de", "p1")]


def test_an_id_that_languages_share_gets_the_language() -> None:
    write_jsonl(Path("a.jsonl"), *rows("en", 0, id="same"), *rows("de", 0, id="same"))
    assert ids(load_dataset("a.jsonl")) == ["same/en", "same/de"]
    # and keeps it when only one of them is read
    assert ids(load_dataset("a.jsonl", langs=["de"])) == ["same/de"]


def test_languages_of_a_table_without_parallel_ids_can_be_chosen_too() -> None:
    write_jsonl(Path("a.jsonl"), *[{"text": "a", "l": lang} for lang in ("en", "de", "en", "fr", "en")])
    dataset = load_dataset("a.jsonl", columns={"lang": "l"}, langs=["fr", "en"], limit=3)
    assert [instance.lang for instance in dataset.instances] == ["en", "en", "fr"]
    assert "unknown language 'es'" in refusal("a.jsonl", columns={"lang": "l"}, langs=["es"])


def test_parts_may_hold_their_translations() -> None:
    pairs = [
        {
            "premise": {"en": "A dog.", "de": "Ein Hund."},
            "hypothesis": {"language": ["de", "en"], "translation": ["Ja.", "Yes."]},
            "label": "neutral",
        }
    ]
    write_jsonl(Path("a.jsonl"), *pairs)
    dataset = load_dataset("a.jsonl")
    assert ids(dataset) == ["1/en", "1/de"]
    assert [[part.raw for part in x.parts] for x in dataset.instances] == [["A dog.", "Yes."], ["Ein Hund.", "Ja."]]
    assert [(x.lang, x.parallel_id, x.label) for x in dataset.instances] == [
        ("en", "1", "neutral"),
        ("de", "1", "neutral"),
    ]


@pytest.mark.parametrize(
    ("hypothesis", "message"),
    [
        ({"en": "b"}, "a.jsonl:1: field 'hypothesis': '1' is empty in de; set missing: skip to leave out such inputs"),
        ({"en": "b", "de": None}, "a.jsonl:1: field 'hypothesis': '1' is empty in de; set missing: skip to leave out"),
        ({"language": ["en"], "translation": []}, "a.jsonl:1: field 'hypothesis': 1 languages but 0 translations"),
        ({"en": "b", "de": 3}, "a.jsonl:1: field 'hypothesis': expected text, got the number 3"),
    ],
)
def test_translations_that_do_not_fit_are_refused(hypothesis: Any, message: str) -> None:
    write_jsonl(Path("a.jsonl"), {"premise": {"en": "a", "de": "b"}, "hypothesis": hypothesis})
    assert refusal("a.jsonl").startswith(message)


def test_a_folder_of_the_datasets_library_with_translations_is_read(folder: Path) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {
            "premise": datasets.Translation(languages=["de", "en"]),
            "hypothesis": datasets.TranslationVariableLanguages(languages=["de", "en"]),
            "label": datasets.ClassLabel(names=["entailment", "neutral", "contradiction"]),
        }
    )
    table = {
        "premise": [{"de": "Ein Hund.", "en": "A dog."}, {"de": "Zwei.", "en": "Two."}],
        "hypothesis": [{"de": "Ja.", "en": "Yes."}, {"de": "Nein.", "en": "No."}],
        "label": [0, 2],
    }
    datasets.Dataset.from_dict(table, features=features).save_to_disk(str(folder / "saved"))
    dataset = load_dataset("saved")
    assert ids(dataset) == ["1/de", "1/en", "2/de", "2/en"]
    assert [x.parts[1].raw for x in dataset.instances] == ["Ja.", "Yes.", "Nein.", "No."]
    assert [x.label for x in dataset.instances] == ["entailment"] * 2 + ["contradiction"] * 2
    assert dataset.labels == ("entailment", "neutral", "contradiction")


# XNLI as it was published


def xnli(path: Path, *lines: tuple[str, str, str, str, str]) -> Path:
    head = "language\tgold_label\tsentence1_binary_parse\tsentence1\tsentence2\tpromptID\tpairID\tgenre\tmatch\n"
    body = (f"{lang}\t{label}\t\t{one}\t{two}\t1\t{pair}\tfiction\tTrue\n" for lang, label, one, two, pair in lines)
    path.write_text(head + "".join(body), encoding="utf-8")
    return path


def test_xnli_is_read_as_it_was_published(folder: Path) -> None:
    path = xnli(
        folder / "xnli.dev.tsv",
        ("de", "neutral", 'Er sagte "ja.', "Ja.", "1"),
        ("de", "entailment", "Zwei.", "Eins.", "2"),
        ("en", "neutral", 'He said "yes.', "Yes.", "1"),
        ("en", "entailment", "Two.", "One.", "2"),
    )
    dataset = load_dataset(path)
    assert ids(dataset) == ["1/de", "2/de", "1/en", "2/en"]
    assert dataset.instances[2].parts[0].raw == 'He said "yes.'
    assert dataset.instances[2].parallel_id == "1"
    assert dataset.labels == ("entailment", "neutral", "contradiction")
    assert dataset.metric == "accuracy"
    assert ids(load_dataset(path, limit=1)) == ["1/de", "1/en"]
    assert ids(load_dataset(path, limit=1, langs=["en"])) == ["1/en"]


# Which rows are read


@pytest.mark.usefixtures("three")
def test_a_limit_counts_inputs_and_each_is_read_in_every_language() -> None:
    dataset = load_dataset("test.*.jsonl", limit=2)
    assert ids(dataset) == ["de-0", "de-1", "en-0", "en-1", "es-0", "es-1"]
    assert dataset.provenance["limit"] == "2"


def test_a_limit_takes_the_same_inputs_in_each_language_whatever_their_order() -> None:
    write_jsonl(Path("a.jsonl"), *rows("en", 0, 1, 2), *rows("de", 2, 1, 0))
    assert ids(load_dataset("a.jsonl", limit=2)) == ["en-0", "en-1", "de-1", "de-0"]


@pytest.mark.usefixtures("three")
def test_some_languages_are_kept() -> None:
    dataset = load_dataset("test.*.jsonl", langs=["es", "en"], limit=1)
    assert ids(dataset) == ["en-0", "es-0"]
    assert dataset.provenance["langs"] == "en, es"


def test_what_is_missing_in_one_language_is_refused_or_left_out_and_counted() -> None:
    write_jsonl(Path("a.jsonl"), *rows("en", 0, 1, 2, 3), *rows("de", 0, 2, 3), *rows("es", 3, 2, 1, 0))
    expected = "a.jsonl: 'p1' is missing in de; in en it is at a.jsonl:2; set missing: skip to leave out such inputs"
    assert refusal("a.jsonl") == expected
    dataset = load_dataset("a.jsonl", missing="skip")
    assert {instance.parallel_id for instance in dataset.instances} == {"p0", "p2", "p3"}
    assert dataset.provenance["left_out"] == "1 inputs that are not there in every language"
    # so many whole ones
    assert ids(load_dataset("a.jsonl", missing="skip", limit=2)) == ["en-0", "en-2", "de-0", "de-2", "es-2", "es-0"]
    # nothing is missing in the languages that are asked for, or in the inputs
    assert len(load_dataset("a.jsonl", langs=["en", "es"])) == 8
    assert len(load_dataset("a.jsonl", limit=1)) == 3


@pytest.mark.parametrize("empty", ["", "  \u200b\n", []])
def test_an_empty_side_is_refused_or_left_out(empty: Any) -> None:
    write_jsonl(Path("a.jsonl"), *rows("en", 0, 1), *rows("de", 0), *rows("de", 1, hypothesis=empty))
    assert refusal("a.jsonl").startswith("a.jsonl:4: field 'hypothesis': 'p1' is empty in de; set missing: skip")
    assert ids(load_dataset("a.jsonl", missing="skip")) == ["en-0", "de-0"]


# What is refused, whatever `missing` says


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [*rows("en", 0, 1), *rows("de", 2, 3)],
            "a.jsonl: de and en have no parallel id in common; de has for example 'p2', en has 'p0'",
        ),
        (
            [*rows("en", 0), *rows("de", 0), *rows("en", 0, id="other")],
            "a.jsonl:3: field 'parallel_id': duplicate 'p0' in en; first at a.jsonl:1",
        ),
        (
            [*rows("en", 0), *rows("de", 0, label="neutral")],
            "a.jsonl: the translations of 'p0' differ in their label: 'entailment' in en, 'neutral' in de",
        ),
        (
            [*rows("en", 0), *rows("de", 0, label=None)],
            "a.jsonl: the translations of 'p0' differ in their label: 'entailment' in en, none in de",
        ),
        (
            [*rows("en", 0), *rows("de", 0, parallel_id=None)],
            "a.jsonl:2: field 'parallel_id': expected a parallel id, got an empty value",
        ),
        (
            [*rows("en", 0), *rows("de", 0, 1), *rows("es", 1)],
            "a.jsonl: es and en have no parallel id in common; es has for example 'p1', en has 'p0'",
        ),
        (
            [*rows("en", 0, 1), *rows("de", 0, 2), *rows("es", 1, 2)],
            "a.jsonl: no input is available in all of en, de, es",
        ),
    ],
)
def test_rows_that_are_no_translations_of_each_other_are_refused(given: list[dict[str, Any]], message: str) -> None:
    write_jsonl(Path("a.jsonl"), *given)
    assert refusal("a.jsonl", missing="skip") == message


@pytest.mark.usefixtures("three")
def test_a_language_that_is_not_there_is_refused() -> None:
    assert refusal("test.*.jsonl", langs=["en", "dee"]).endswith("langs: unknown language 'dee'; did you mean 'de'?")
    assert refusal("test.*.jsonl", langs=[]).endswith("langs: expected at least one language; available: de, en, es")


@pytest.mark.usefixtures("three")
def test_files_of_different_formats_are_refused(folder: Path) -> None:
    xnli(folder / "a.tsv", ("en", "neutral", "A.", "B.", "1"))
    assert refusal(["a.tsv", "test.en.jsonl"]) == "test.en.jsonl: expected the format XNLI, like a.tsv"


def test_a_built_in_dataset_has_languages_to_choose_from_too() -> None:
    assert len(load_dataset("world/nli", langs=["en"], limit=3)) == 3
    assert refusal("world/nli", langs=["xx"], limit=3).startswith("world/nli: langs: unknown language 'xx'; valid: en")


def test_options_that_do_nothing_for_data_known_by_name_are_refused() -> None:
    assert refusal("world/xnli", segment="required", limit=1) == (
        "segment: not supported here, since world/xnli is built in; got 'required'"
    )
    assert (
        refusal("world/xnli", missing="skip", limit=1)
        == "missing: not supported here, since world/xnli is built in; got 'skip'"
    )
    assert (
        refusal("esnli", missing="skip")
        == "missing: not supported here, since esnli is a registered dataset; got 'skip'"
    )
    assert len(load_dataset("world/nli", segment="auto", missing="error", limit=2)) == 2, "as by default"


def test_options_that_do_nothing_for_a_format_of_one_language_are_refused(folder: Path) -> None:
    (folder / "qa1_test.txt").write_text("1 Mary went home.\n2 Where is Mary?\thome\t1\n")
    why = "not supported here, since qa1_test.txt is in the format of bAbI"
    assert refusal("qa1_test.txt", missing="skip") == f"missing: {why}; got 'skip'"
    assert refusal("qa1_test.txt", segment="clusters") == f"segment: {why}; got 'clusters'"
    assert refusal("qa1_test.txt", langs=["en"]) == f"langs: {why}; got ('en',)"
