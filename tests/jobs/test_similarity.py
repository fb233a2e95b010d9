"""Representations of inputs against the model itself, and `verax similarity` from its data to its table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import verax
from support.cli import Answer, CallVerax
from support.tables import lines_of
from verax.cli.similarity import _table
from verax.data.text import split_words
from verax.jobs.similarity import Similarity, representations
from verax.models.classifier import Classifier
from verax.models.load import load_encoder
from verax.stats.cka import matched
from verax.types import Dataset, Estimate, Instance, UserError

WORDS = ["the", "small", "red", "boat", "sails", "across", "quiet", "lake", "two", "gulls", "nobody", "bread", "honey"]


def sentences(n: int, seed: int) -> list[str]:
    """Different short texts of words that the tiny tokenizer knows."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(n)]


def rows(n: int) -> list[dict[str, str]]:
    """English, a "German" that is the same text, and a "French" of which no text has to do with its original."""
    texts = {"en": sentences(n, 0), "de": sentences(n, 0), "fr": sentences(n, 1)}
    return [
        {"id": f"{lang}-{i}", "text": texts[lang][i], "lang": lang, "number": f"n{i}", "label": "far"}
        for i in range(n)
        for lang in texts
    ]


def dataset(n: int) -> Dataset:
    made = (
        Instance(row["id"], (split_words(row["text"]),), lang=row["lang"], parallel_id=row["number"]) for row in rows(n)
    )
    return Dataset("toy", tuple(made), ())


@pytest.mark.parametrize("architecture", ["bert", "xlm-roberta", "gpt2"])
def test_a_representation_is_pooled_from_the_models_own_hidden_states(
    architecture: str, checkpoint: Callable[[str], Path], instances: list[Instance]
) -> None:
    """One input at a time, by transformers alone; tokens of words are those that stand in a text."""
    folder = checkpoint(architecture)
    model, tokenizer = AutoModel.from_pretrained(folder).double().eval(), AutoTokenizer.from_pretrained(folder)
    ours = load_encoder(folder, dtype="float64")
    for layer, pooling in ((None, "mean"), (1, "mean"), (0, "first"), (2, "first")):
        found = representations(ours, instances, layer=layer, pooling=pooling)  # type: ignore[arg-type]
        assert set(found) == {instance.id for instance in instances}
        for instance in instances:
            encoded = tokenizer(*(part.raw for part in instance.parts), return_tensors="pt")
            with torch.no_grad():
                states = model(**encoded, output_hidden_states=True).hidden_states[-1 if layer is None else layer][0]
            own = [part is not None for part in encoded.sequence_ids(0)]
            expected = states[own].mean(0) if pooling == "mean" else states[0]
            assert found[instance.id] == pytest.approx(expected.numpy(), abs=1e-9)


def test_the_same_text_is_always_found_and_another_text_by_chance(classifier: Callable[..., Classifier]) -> None:
    data, model = dataset(161), classifier("bert")
    german, french = verax.representation_similarity(model, data)
    assert (german.lang, german.reference, german.pairs, german.batches, german.skipped) == ("de", "en", 161, 20, 0)
    assert german.accuracy.value == 1.0
    assert (french.lang, french.chance) == ("fr", 1 / 11)
    states = representations(model, data.instances)
    sides = [np.stack([states[f"{lang}-{i}"] for i in range(161)]) for lang in ("en", "fr")]
    assert french.accuracy == matched(*sides).accuracy
    # 20 batches by one seed may well find 6; the mean over 20 seeds was 0.085 to 0.128 whenever it was looked at
    assert np.mean([matched(*sides, seed=seed).accuracy.value for seed in range(20)]) < 0.2
    states = representations(model, data.instances, pooling="first", layer=1)
    sides = [np.stack([states[f"{lang}-{i}"] for i in range(161)]) for lang in ("de", "fr")]
    options: dict[str, Any] = {"batch": 5, "candidates": 3, "seed": 7}
    (other,) = verax.representation_similarity(
        model, data, reference="de", langs=["fr", "fr"], pooling="first", layer=1, **options
    )
    expected = matched(*sides, **options)
    assert (other.accuracy, other.batches, other.chance) == (expected.accuracy, 32, 0.25)


def test_inputs_that_can_not_be_read_are_left_out_with_their_translations(
    classifier: Callable[..., Classifier],
) -> None:
    data = dataset(40)
    blank, long = split_words(" "), split_words("boat " * 200)
    changed = {"en-3": blank, "de-5": long, "fr-3": blank}
    instances = tuple(replace(i, parts=(changed[i.id],)) if i.id in changed else i for i in data.instances)
    data = replace(data, instances=instances)
    german, french = verax.representation_similarity(classifier("bert"), data, batch=4)
    assert (german.pairs, german.skipped, french.pairs, french.skipped) == (38, 2, 39, 1)
    assert german.accuracy.value == 1.0
    few = replace(data, instances=data.instances[:27])
    with pytest.raises(
        UserError, match=r"can read 7 of 9 inputs in both en and de; at least two batches of 4, 8, are needed"
    ):
        verax.representation_similarity(classifier("bert"), few, batch=4)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"reference": "dee"}, "reference: toy: unknown language 'dee'; did you mean 'de'"),
        ({"langs": ["frr"]}, "lang: toy: unknown language 'frr'; did you mean 'fr'"),
        ({"langs": ["en"]}, "lang: en is the reference language"),
        ({"batch": 2}, "batch: at least 3 inputs are needed, because any two are alike, got 2"),
        ({"candidates": 0}, "candidates: at least 1 random batch is needed, got 0"),
        ({"pooling": "frist"}, "pooling: unknown way 'frist'; did you mean 'first'"),
        ({"layer": 3}, "layer: got 3; "),
        ({"layer": -1}, "layer: got -1; "),
        ({"batch": 9}, "toy has 17 inputs in both en and de; at least two batches of 9, 18, are needed"),
    ],
)
def test_mistakes_are_told(classifier: Callable[..., Classifier], options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as error:
        verax.representation_similarity(classifier("bert"), dataset(17), **options)
    assert str(error.value).startswith(told)


def test_one_language_is_no_translation(classifier: Callable[..., Classifier], instances: list[Instance]) -> None:
    with pytest.raises(UserError, match="data: mine has one language only, en; translations are needed"):
        verax.representation_similarity(classifier("bert"), Dataset("mine", tuple(instances), ()))


@pytest.fixture
def similarity(call_verax: CallVerax, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CallVerax:
    """Call `verax similarity` on twenty inputs in three languages, in a wide terminal."""
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows(20))))
    columns = {"id": "id", "lang": "lang", "parallel_id": "number"}
    data = {"name": str(tmp_path / "rows.jsonl"), "columns": columns}
    spec = {"model": "m", "data": data, "methods": ["random"], "metrics": ["agreement"]}
    (tmp_path / "data.yaml").write_text(json.dumps(spec))

    def call(*args: object) -> Answer:
        return call_verax("similarity", "--data", tmp_path / "data.yaml", *args)  # type: ignore[arg-type]

    return call


def test_the_command_prints_a_table_of_models_and_languages(
    similarity: CallVerax, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    """The second model has no classifier on top. The table fits a terminal, however long the paths are."""
    first, second = checkpoint("bert"), tmp_path / "encoder"
    AutoModel.from_pretrained(checkpoint("roberta"), add_pooling_layer=False).save_pretrained(second)
    AutoTokenizer.from_pretrained(checkpoint("roberta")).save_pretrained(second)
    told = ("--model", first, "--also", second, "--batch", 3)
    said = similarity(*told, "--format", "json")
    assert said.code == 0, said.err
    records = json.loads(said.out)
    assert [(one["model"], one["lang"]) for one in records] == [
        (str(model), lang) for model in (first, second) for lang in ("de", "fr")
    ]
    assert [one["accuracy"] for one in records[::2]] == [1.0, 1.0]
    told_of = {"model", "reference", "lang", "accuracy", "low", "high", "chance", "batches", "pairs", "skipped"}
    assert set(records[0]) == told_of
    assert (records[0]["batches"], records[0]["pairs"], records[0]["high"]) == (6, 20, 1.0)
    assert records[0]["low"] == pytest.approx(6 / (6 + 1.959964**2))

    shown = similarity(*told)
    said_above = "Linear CKA accuracy with en: batches of 3, 10 random ones in addition, 0.091 expected by guessing"
    assert " ".join(shown.out.split()).startswith(
        f"{said_above} language bert batches skipped encoder batches skipped "
    )
    assert "reading with" in shown.err
    lines = shown.out.splitlines()
    (german,) = (number for number, line in enumerate(lines) if line.startswith("de "))
    assert lines[german].split() == ["de", "1.000", "6", "0", "1.000", "6", "0"]
    assert lines[german + 1].split() == ["[0.610,", "1.000]"] * 2
    assert similarity(*told, "--format", "markdown").out.count("\n| ") == 4
    assert len(similarity(*told, "--format", "csv", "--lang", "fr").out.splitlines()) == 3
    assert json.loads(similarity(*told, "--format", "json", "--limit", 12).out)[0]["pairs"] == 12


def test_each_model_has_its_own_counts() -> None:
    """The second model cannot read three of the pairs, and so has a batch less."""
    counts = {"a": (5, 20, 0), "b": (4, 17, 3)}
    measured = [
        Similarity(model, "en", lang, Estimate(0.5), 0.25, *counts[model]) for model in counts for lang in ("de", "fr")
    ]
    assert lines_of(_table(measured, 4, 3)) == [[lang, "0.500", "5", "0", "0.500", "4", "3"] for lang in ("de", "fr")]


def test_mistakes_on_the_command_line_are_one_line(similarity: CallVerax, checkpoint: Callable[[str], Path]) -> None:
    model = ("--model", checkpoint("bert"))
    for args, told in {
        (*model, "--batch", 11): "has 20 inputs in both en and de; at least two batches of 11, 22, are needed",
        (*model, "--lang", "dee"): "unknown language 'dee'; did you mean 'de'",
        (*model, "--data", "world/nli"): "world/nli has one language only, en; translations are needed",
        (*model, "--format", "html", "--lang", "de"): "'html' is not one of",
        ("--model", "wrold/nli"): "did you mean 'world/nli'",
    }.items():
        said = similarity(*args)
        assert (said.code, said.out) == (2, "")
        assert told in said.err.splitlines()[-1]
        assert "Traceback" not in said.err
