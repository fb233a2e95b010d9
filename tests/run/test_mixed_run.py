"""One run with words, pairs of spans and free text of the same model: one folder, one card, one resumption."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from support import text_runs
from support.talking_model import talking_model
from verax import Dataset, evaluate, explain, load_dataset
from verax.api import Run
from verax.store.read import read_rows
from verax.store.store import Store
from verax.types import Instance, UserError

METHODS = ["leave_one_out", "louvain", "answer_then_explain"]
ROWS_OF_AN_INSTANCE = 1 + 3 * 2 + 1 * 3
"""A prediction; random, leave_one_out and louvain with a score each; free text with two scores."""


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return load_dataset(text_runs.write_data(tmp_path / "pairs.jsonl"))


@pytest.fixture
def mixed(checkpoint: Callable[[str], Path], data: Dataset, tmp_path: Path) -> Callable[..., Run]:
    """Run all kinds of methods into a folder."""

    def run(out: str = "run", **changes: Any) -> Run:
        given: dict[str, Any] = {
            "model": talking_model(checkpoint("bert"), text_runs.rule()),
            "data": data,
            "methods": METHODS,
            "metrics": ["comprehensiveness", text_runs.counterfactual(tmp_path), "bleu"],
        }
        given |= changes
        return evaluate(given.pop("model"), given.pop("data"), **given, out=tmp_path / out, progress=False)

    return run


def values(run: Run) -> list[Any]:
    """Everything a reader sees but costs; numbers to nine digits, since other batches round differently."""
    texts = [(row.instance_id, row.method, row.text, row.label) for row in run.texts()]
    highlights = [(row.instance_id, row.method, row.units, _digits(row.scores)) for row in run.highlights()]
    scores = [
        (row.instance_id, row.method, row.metric, _digits([row.value or 0]), row.reason) for row in run.score_rows()
    ]
    return [texts, highlights, scores, [(row.instance_id, row.label) for row in run.predictions()]]


def _digits(numbers: Iterable[float]) -> list[float]:
    return [round(number, 9) for number in numbers]


def test_one_folder_holds_all_kinds(mixed: Callable[..., Run], data: Dataset) -> None:
    run = mixed()
    n = len(data)
    assert Counter(row.method for row in run.highlights()) == {"random": n, "leave_one_out": n, "louvain": n}
    assert Counter(row.method for row in run.texts()) == {"answer_then_explain": n}
    assert len(run.predictions()) == n
    measured = Counter((row.method, row.metric.partition("(")[0]) for row in run.score_rows())
    assert measured == {
        ("random", "comprehensiveness"): n,
        ("leave_one_out", "comprehensiveness"): n,
        ("louvain", "comprehensiveness"): n,
        ("answer_then_explain", "counterfactual_test"): n,
        ("answer_then_explain", "bleu"): n,
    }
    assert {row.value for row in run.score_rows() if row.metric.startswith("counterfactual")} == {1.0}
    card = run.tables.card
    assert card["counts"] == {
        "rows": n * ROWS_OF_AN_INSTANCE,
        "done": n * ROWS_OF_AN_INSTANCE,
        "failed": 0,
        "skipped": 0,
    }
    assert {entry["label"]: entry["kind"] for entry in card["methods"]} == {
        "random": "token",
        "leave_one_out": "token",
        "louvain": "span_interaction",
        "answer_then_explain": "text",
    }
    assert card["model"]["setup"] == "prompted"
    assert card["model"]["speech"] == "a rule"
    assert {findings.study.name for findings in run.findings()} >= {"leaderboard", "free_text"}


def test_each_kind_has_the_rows_that_it_has_alone(mixed: Callable[..., Run]) -> None:
    """Rows of a run of one kind are part of the run of all kinds, so one grows out of the other."""
    words = mixed("grown", methods=METHODS[:2], metrics=["comprehensiveness"])
    keys = {key for key, _ in read_rows(words.folder)}
    grown, whole = mixed("grown"), mixed("whole")
    assert values(grown) == values(whole)
    assert keys < {key for key, _ in read_rows(whole.folder)}


@pytest.mark.parametrize("row", [1, 9, 25, 40, 62])
def test_it_goes_on_where_it_was_killed(row: int, mixed: Callable[..., Run], tmp_path: Path) -> None:
    """Kill -9 at some row; the rest is computed, nothing that was stored is computed again."""
    child = os.fork()
    if not child:
        append, rows = Store.append, iter(range(1, 10**6))

        def dying(store: Store, *arguments: Any) -> None:
            append(store, *arguments)
            if next(rows) == row:
                store.flush()
                os.kill(os.getpid(), signal.SIGKILL)

        Store.append = dying  # type: ignore[method-assign]
        mixed("killed")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    stored = dict(read_rows(tmp_path / "killed"))
    assert len(stored) == row
    appended: list[str] = []
    append = Store.append
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "append", lambda store, key, value: (appended.append(key), append(store, key, value))[0])
        resumed = mixed("killed")
    assert not stored.keys() & set(appended)
    assert values(resumed) == values(mixed("whole"))


def test_text_alone_has_neither_baseline_nor_predictions(mixed: Callable[..., Run]) -> None:
    run = mixed(methods=["answer_then_explain"], metrics=["bleu"])
    assert run.highlights() == run.predictions() == []
    assert [entry["label"] for entry in run.tables.card["methods"]] == ["answer_then_explain"]


def test_metrics_of_text_alone_take_the_models_own_way_to_explain_itself(mixed: Callable[..., Run]) -> None:
    run = mixed(methods=[], metrics=["bleu"])
    assert {row.method for row in run.texts()} == {"explain_then_answer", "answer_then_explain"}


def test_a_metric_without_explanations_to_measure_is_refused(mixed: Callable[..., Run]) -> None:
    with pytest.raises(UserError, match="counterfactual_test measures free text, and no method gives any"):
        mixed(methods=["leave_one_out"])


def test_a_model_without_text_is_refused(mixed: Callable[..., Run], checkpoint: Callable[[str], Path]) -> None:
    from verax import load_model

    with pytest.raises(UserError, match=r"answer_then_explain needs free text; the model .* provides only"):
        mixed(model=load_model(checkpoint("bert")))


def test_one_input_is_explained_in_any_kind(checkpoint: Callable[[str], Path], data: Dataset) -> None:
    model: Any = talking_model(checkpoint("bert"), text_runs.rule())
    instance: Instance = data.instances[0]
    text = explain(model, instance, method="answer_then_explain")
    assert (text.text, text.prediction.label) == ("nothing is said of it", "neutral")
    assert text.to_dict()["text"] == text.text
    assert "nothing is said of it" in text._repr_html_()
    with pytest.raises(UserError, match="no scores, but `text`"):
        text.highlight  # noqa: B018
    words = explain(model, instance, method="leave_one_out")
    assert len(words.highlight.scores) == len(instance.units)
    with pytest.raises(UserError, match="no text, but `highlight`"):
        words.text  # noqa: B018
