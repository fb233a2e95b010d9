"""Faithfulness across languages where the truth is known: a model that is the same in two languages, and the world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.world.twin import CIPHER, twin
from verax.align.embedding import Embedding
from verax.align.parallel import parallel_instances, text_pairs
from verax.align.scores import score_alignments
from verax.api import evaluate
from verax.data.load import load_dataset
from verax.models.load import load_encoder, load_model
from verax.results.manifest import CONTENT_FREE
from verax.results.run import Run
from verax.types import Dataset, Undefined

GIVEN = "crosslingual_faithfulness(aligner=given)"
DRAWN = "crosslingual_faithfulness(aligner=random)"
METRICS: list[Any] = [{"crosslingual_faithfulness": {"aligner": name}} for name in ("given", "random")]
METHODS: list[Any] = ["saliency", "input_x_gradient", {"integrated_gradients": {"steps": 10}}, "occlusion"]


def values(run: Run, method: str, metric: str) -> list[float]:
    found = [s.value for s in run.score_rows() if (s.method, s.metric) == (method, metric) and s.value is not None]
    assert found, (method, metric)
    return found


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Run:
    model, tokenizer, data = twin(limit=40)
    asked = load_model(model, tokenizer=tokenizer)
    return evaluate(asked, data, METHODS, METRICS, out=tmp_path_factory.mktemp("twins"), progress=False)


def test_what_is_computed_alike_is_explained_alike(twins: Run) -> None:
    """Above 0.95 for every deterministic method: the same function of the same embeddings, up to rounding."""
    for entry in twins.tables.card["methods"]:
        if entry["name"] != "random":
            assert np.mean(values(twins, entry["label"], GIVEN)) > 0.95, entry["label"]


def test_random_links_and_random_scores_leave_nothing(twins: Run) -> None:
    """About 0: within four standard errors, and below 0.15."""
    methods = [entry.label for entry in twins.manifest.methods if entry.name != CONTENT_FREE]
    nothing = [(label, DRAWN) for label in methods] + [("random", GIVEN)]
    for method, metric in nothing:
        found = values(twins, method, metric)
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        assert abs(np.mean(found)) < min(4 * error, 0.15), (method, metric)


def test_permuted_scores_leave_nothing(twins: Run, tmp_path: Path) -> None:
    """The saliency of the cipher with its scores in another order, as an explanation made elsewhere."""
    rng = np.random.default_rng(0)
    instances = {instance.id: instance for instance in twins.inputs()}
    lines = []
    for row in twins.highlights():
        if row.method != "saliency":
            continue
        scores = list(row.scores)
        if row.instance_id.endswith(CIPHER):
            rng.shuffle(scores)
        first = len(instances[row.instance_id].parts[0].words)
        parts = [scores[:first], scores[first:]]
        lines.append(f'{{"id": "{row.instance_id}", "method": "permuted", "scores": {parts}}}\n')
    given = tmp_path / "permuted.jsonl"
    given.write_text("".join(lines))
    model, tokenizer, data = twin(limit=40)
    asked = load_model(model, tokenizer=tokenizer)
    run = evaluate(asked, data, [], METRICS[:1], explanations=[given], out=tmp_path / "run", progress=False)
    found = values(run, "permuted", GIVEN)
    assert abs(np.mean(found)) < 4 * np.std(found, ddof=1) / np.sqrt(len(found))


@pytest.fixture(scope="module")
def translated() -> Dataset:
    return load_dataset("world/xnli", limit=24)


def test_the_shipped_model_aligns_its_languages(translated: Dataset) -> None:
    """AER below 0.2 in each language, by the states of its first layer."""
    encoder = load_encoder("world/xnli")
    for lang in ("de", "es", "fr", "bg", "zh"):
        both = parallel_instances(translated, "en", lang)
        pairs = [pair for one in both for pair in text_pairs(one, translated.aligned)]
        found = [links for links in Embedding(layer=1).align_with(encoder, pairs) if not isinstance(links, Undefined)]
        gold = [(pair.sure or (), pair.possible) for pair in pairs]
        scores = score_alignments([tuple((int(a), int(b)) for a, b in links) for links in found], gold)
        assert scores.aer is not None
        assert scores.aer < 0.2, (lang, scores)


def test_any_language_can_be_the_reference(translated: Dataset, tmp_path: Path) -> None:
    """Linked the other way round much the same is compared, so that the values go together."""
    two = replace(translated, instances=tuple(i for i in translated.instances if i.lang in ("en", "de")))
    both = [{"crosslingual_faithfulness": {"aligner": "given", "reference_lang": lang}} for lang in ("en", "de")]
    run = evaluate(load_model("world/xnli"), two, ["occlusion"], both, out=tmp_path, progress=False)
    there, back = ([s for s in run.score_rows() if s.method == "occlusion" and s.metric == m] for m in run.metrics)
    assert {s.instance_id[-2:] for s in there} == {"de"}
    assert {s.instance_id[-2:] for s in back} == {"en"}
    assert np.corrcoef([s.value or 0 for s in there], [s.value or 0 for s in back])[0, 1] > 0.5
    occluded, drawn = (
        np.mean([s.value or 0 for s in run.score_rows() if s.method == m]) for m in ("occlusion", "random")
    )
    assert occluded > drawn + 0.2
