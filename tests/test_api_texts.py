"""Free-text explanations from Python: by name or by the thing itself, and one clear line for what does not fit."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from support.answering import answers_by_rule
from support.fault_server import Asked, FaultServer, Handler, says
from support.rigged import NLI
from support.text_runs import write_data
from verax import evaluate, explain, load_dataset, load_model, load_self_explainer
from verax.models.endpoint import Endpoint
from verax.store.read import read_rows
from verax.types import Generated, UserError

PAIR = ("A gloomy teacher is peaceful.", "The teacher is sad.")


def test_one_input_is_answered_and_explained() -> None:
    model = load_self_explainer("world/nli-mt-ra")
    for made in (explain(model, *PAIR), explain(model, *PAIR, method="mt_ra")):
        assert made.prediction.label in model.labels
        assert made.row.method == "mt_ra"
        assert made.text
        assert sum(made.prediction.probabilities) == pytest.approx(1)


def test_data_and_model_by_name_or_by_themselves_give_the_same(tmp_path: Path) -> None:
    by_name = evaluate(
        "world/nli-st-re", {"name": "world/nli", "limit": 2}, [], ["bleu"], out=tmp_path / "names", progress=False
    )
    itself = evaluate(
        load_self_explainer("world/nli-st-re"),
        load_dataset("world/nli", limit=2),
        [],
        ["bleu"],
        out=tmp_path / "things",
        progress=False,
    )
    assert [one.text for one in by_name.texts()] == [one.text for one in itself.texts()]
    assert "2 explanations, 2 scores" in repr(itself)


def test_what_does_not_fit_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"mt_ra needs free text; the model 'world/nli' provides only"):
        explain(load_model("world/nli"), *PAIR, method="mt_ra")
    model = load_self_explainer("world/nli-mt-ra")
    with pytest.raises(UserError, match="none at this stage"):
        explain(model, "One text alone.")
    with pytest.raises(UserError, match="leave methods out"):
        explain(model, *PAIR, method="answer_then_explain")
    with pytest.raises(UserError, match="saliency needs class outputs and gradients"):
        explain(model, *PAIR, method="saliency")
    with pytest.raises(UserError, match="comprehensiveness needs class outputs"):
        evaluate(model, "world/nli", ["mt_ra"], ["comprehensiveness"], out=tmp_path / "run")


def test_a_language_that_the_tests_can_not_read_is_warned_of(tmp_path: Path) -> None:
    data = load_dataset("world/xnli", langs=("de",), limit=1)
    run = evaluate("world/nli-mt-ra", data, [], ["bleu"], out=tmp_path / "run", progress=False)
    assert any("rules for English; there are inputs in de" in line for line in run.tables.card["warnings"])


def test_an_endpoint_that_is_handed_over_is_asked_once(tmp_path: Path) -> None:
    """Its answers are kept; another run asks for what had no result alone, and the card counts what both sent."""
    healed, data = Event(), load_dataset(write_data(tmp_path / "pairs.jsonl"))

    def fault(handler: Handler, asked: Asked) -> None:
        refused = "dog" in asked.user and not healed.is_set()
        (says(None, refusal="No.") if refused else answers_by_rule())(handler, asked)

    with FaultServer(default=fault) as server:
        endpoint = Endpoint(server.url, "m", first_wait=0.01)
        model = load_self_explainer("m", labels=NLI, parts=2, endpoint=endpoint)
        for whole, sent in ((False, 5 * 2 + 1), (True, 6 * 2 + 1), (True, 6 * 2 + 1)):
            if whole:
                healed.set()
            run = evaluate(model, data, ["explain_then_answer"], ["bleu"], out=tmp_path / "run", progress=False)
            assert run.tables.card["requests"] == len(server.asked) == sent
            assert [skip.reason for skip in run.skips()] == ([] if whole else ["refused"])
    assert sum(isinstance(row, Generated) for _, row in read_rows(run.folder)) == 6 * 2
    assert run.tables.card["model"]["hosts"] == [f"127.0.0.1:{server.port}"]
    assert model.explainer is model.predictor is endpoint, "what was handed over is as it was"
