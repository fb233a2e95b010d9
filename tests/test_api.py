"""The public names, and an explanation that shows itself."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib.figure
import pandas as pd
import pytest
import torch
import transformers

import verax
from support.runs import word_run
from verax import Dataset, Explanation, Instance, UserError
from verax.data.text import split_words
from verax.models.classifier import Classifier
from verax.results.manifest import MethodEntry
from verax.types import Highlight, Prediction, Span, Target


def test_all_names_resolve_and_nothing_else_is_public() -> None:
    for name in verax.__all__:
        assert getattr(verax, name) is not None
    assert sorted(verax.__all__) == verax.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        verax.nothing  # noqa: B018
    with pytest.raises(ImportError):
        exec("from verax import nothing")  # noqa: S102


def test_importing_verax_imports_nothing_heavy() -> None:
    code = "import sys, verax; assert not {'torch', 'numpy', 'scipy', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_explanation_shows_itself(classifier: Callable[..., Classifier]) -> None:
    made = verax.explain(classifier("bert"), "The <b>small</b> boat", 'a "lake" & <script>alert(1)</script>')
    assert isinstance(made, Explanation)
    html = made._repr_html_()
    assert "<script" not in html
    assert "&lt;script" in html or "&lt;" in html
    assert "boat" in html
    assert "src=" not in html
    assert "http" not in html


def test_explain_takes_an_instance_or_texts(classifier: Callable[..., Classifier], instances: list[Instance]) -> None:
    model = classifier("bert")
    instance = instances[0]
    by_instance = verax.explain(model, instance, method="leave_one_out")
    by_texts = verax.explain(model, *(part.raw for part in instance.parts), method="leave_one_out")
    assert by_instance.highlight.scores == by_texts.highlight.scores
    with pytest.raises(UserError, match="one text for each part"):
        verax.explain(model)
    with pytest.raises(UserError, match="one text for each part"):
        verax.explain(model, instance, "more")


def test_evaluate_without_a_folder_still_keeps_its_rows(
    classifier: Callable[..., Classifier], instances: list[Instance], capsys: pytest.CaptureFixture[str]
) -> None:
    data = Dataset("pairs", tuple(instances), ("yes", "maybe", "no"))
    run = verax.evaluate(classifier("bert"), data, ["saliency"], ["complexity"])
    assert "rows" in capsys.readouterr().err, "a progress bar"
    table = run.summary()
    assert sorted(table["method"]) == ["random", "saliency"]
    again = verax.open_run(run.folder)
    assert again.summary().equals(table)
    assert len(run.score_table()) == 2 * len(instances)
    report = run.report()
    assert report.read_text().startswith("<!doctype html>")


def test_explain_all_shares_passes_and_says_what_is_skipped(classifier: Callable[..., Classifier]) -> None:
    model = classifier("bert")
    found = verax.explain_all(model, "the small red boat", "a lake", methods=["leave_one_out", "exact_shapley"])
    assert [made.highlight.method for made in found.explanations] == ["leave_one_out", "exact_shapley"]
    assert found.highlights[0].cost.forward == 6, "each word; the full input was known from the prediction"
    assert found.highlights[1].cost.forward == 2**6 - 7, "what leave-one-out has asked is known"
    assert found._repr_html_().count("leave_one_out") == 1
    blind = verax.load_model(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])
    every = verax.explain_all(blind, "a b")
    assert {skip.reason for skip in every.skipped} == {"unfit", "needs_two_parts"}
    methods = {made.row.method: made.parameters.get("removal") for made in every.explanations}
    by_masking = dict.fromkeys(["beam", "exact_shapley", "kernel_shap", "leave_one_out"], "mask")
    by_padding = [f"{name}(removal=delete)" for name in ("lime", "occlusion", "shapley_sampling")]
    deleting = dict.fromkeys(by_padding, "delete")  # a function has no padding
    assert methods == {**by_masking, **deleting, "random": None}, "the rest needs gradients"
    for methods in ("lime", []):
        with pytest.raises(UserError, match="explain_all: methods: expected a list"):
            verax.explain_all(model, "a b", methods=methods)
    with pytest.raises(UserError, match="can't remove words by 'pad'"):
        verax.explain_all(blind, "a b", methods=[{"occlusion": {"removal": "pad"}}])


def test_a_model_is_trained_from_python(tmp_path: Path) -> None:
    fields = {"masking": ["none", "half"], "epochs": 1, "test": {"name": "world/opinion", "limit": 4}}
    fields["validation"] = {"name": "world/opinion", "split": "validation", "limit": 4}
    folders = verax.train_masked("world/opinion", {"name": "world/opinion", "limit": 8}, tmp_path / "made", **fields)
    assert [folder.name for folder in folders] == ["none-both-seed-0", "half-both-seed-0"]
    assert [verax.load_model(folder).about["masking"] for folder in folders] == ["none", "half"]
    with pytest.raises(verax.UserError, match="spec: unknown field 'epoch'; did you mean 'epochs'"):
        verax.train_masked("world/opinion", "world/opinion", tmp_path / "other", epoch=1)
    del fields["masking"]
    (plain,) = verax.train_plain("world/opinion", {"name": "world/opinion", "limit": 8}, tmp_path / "plain", **fields)
    assert verax.load_model(plain).about["selected_on"] == "none"
    with pytest.raises(verax.UserError, match="spec: unknown field 'masking'"):
        verax.train_plain("world/opinion", "world/opinion", tmp_path / "other", masking="half")


def test_interactions_are_given_as_pairs_and_not_as_scores_of_words() -> None:
    instance = Instance("i", (split_words("a small red boat"), split_words("a ship")))
    units = ((Span(0, 1, 4), Span(1, 1, 2)), (Span(0, 0, 1), Span(1, 0, 1)))
    highlight = Highlight("i", "louvain", "span_interaction", Target(), units, (0.5, -0.25))
    made = Explanation(instance, Prediction("i", "yes", ("yes",), (1.0,)), highlight, MethodEntry(label="louvain"))
    found = made.to_dict()
    assert found["pairs"] == [
        {"spans": [[0, 1, 4], [1, 1, 2]], "words": ["small red boat", "ship"], "score": 0.5},
        {"spans": [[0, 0, 1], [1, 0, 1]], "words": ["a", "a"], "score": -0.25},
    ]
    assert [set(part) for part in found["parts"]] == [{"text", "words", "offsets"}] * 2
    assert 'aria-label="The 2 pairs with the highest scores: 1. small red boat ↔ ship +0.5' in made._repr_html_()


def test_explanations_and_runs_are_plotted(classifier: Callable[..., Classifier], tmp_path: Path) -> None:
    model, texts = classifier("bert"), ("the small red boat", "a lake")
    shapley = verax.explain(model, *texts, method="exact_shapley")
    for kind in ("bar", "waterfall", "text"):
        page = shapley.plot(kind, out=tmp_path / f"{kind}.pdf")
        assert isinstance(page, matplotlib.figure.Figure)
        assert (tmp_path / f"{kind}.pdf").read_bytes().startswith(b"%PDF")
    legend = [text.get_text() for text in shapley.plot("waterfall").texts]
    assert "remainder" not in legend, "Shapley values sum to the difference"
    dropped = [text.get_text() for text in verax.explain(model, *texts, method="leave_one_out").plot("waterfall").texts]
    assert "remainder" in dropped, "what leave-one-out leaves is shown"
    assert any(line.startswith("without words (mask)") for line in dropped)
    assert r"\colorbox" in shapley.to_latex()
    with pytest.raises(UserError, match="unknown plot 'bars'; did you mean 'bar'"):
        shapley.plot("bars")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="needs an explanation made by `explain`"):
        replace(shapley, subject=None).plot("waterfall")
    run = word_run(tmp_path / "run")
    assert isinstance(verax.open_run(run.folder).plot("leaderboard"), matplotlib.figure.Figure)
    verax.plot([run, word_run(tmp_path / "other").folder], "leaderboard", width="text", out=tmp_path / "two.svg")
    assert (tmp_path / "two.svg").exists()
    assert verax.plot(run, "beeswarm", method="random", title=False).size[0] == 3.3


def test_a_pipeline_is_the_model_in_it(
    checkpoint: Callable[[str], Path], classifier: Callable[..., Classifier]
) -> None:
    folder = str(checkpoint("bert"))
    pipeline = transformers.pipeline("text-classification", folder, tokenizer=folder, dtype=torch.float64, device="cpu")
    texts = ("The small boat", "a lake")
    expected = verax.explain(classifier("bert"), *texts).highlight.scores
    assert verax.explain(verax.load_model(pipeline), *texts).highlight.scores == expected
    generator = transformers.pipeline("feature-extraction", folder, tokenizer=folder, device="cpu")
    with pytest.raises(UserError, match="for text-classification, and this one is for feature-extraction"):
        verax.load_model(generator)


def test_a_target_is_that_of_the_method(classifier: Callable[..., Classifier]) -> None:
    model, texts = classifier("bert"), ("The small boat", "a lake")
    for label in model.labels:
        found = verax.explain(model, *texts, method="leave_one_out", target=label)
        assert found.row.target == Target(label)
        same = verax.explain(model, *texts, method={"leave_one_out": {"target": label}})
        assert found.highlight.scores == same.highlight.scores
    with pytest.raises(UserError, match="give one of them"):
        verax.explain(model, *texts, method={"leave_one_out": {"target": "gold"}}, target="loss")


def test_a_frame_is_evaluated_and_two_runs_compared(classifier: Callable[..., Classifier], tmp_path: Path) -> None:
    rows = [{"premise": "The small boat", "hypothesis": f"lake {number}", "label": "yes"} for number in range(6)]
    what: tuple[list[str], list[str]] = (["leave_one_out"], ["comprehensiveness"])
    first = verax.evaluate(classifier("bert"), pd.DataFrame(rows), *what, out=tmp_path / "a", progress=False)
    second = verax.evaluate(classifier("bert", "float32"), rows, *what, out=tmp_path / "b", progress=False)
    table = verax.compare(first, tmp_path / "b")
    means = {row["method"]: row["mean_a"] for row in table.records()}
    assert means == pytest.approx(first.score_table().groupby("method")["value"].mean().to_dict())
    assert [row["mean_b"] for row in table.records()] == pytest.approx(list(means.values()), abs=1e-5)
    assert repr(table).startswith("<Table comparison: 2 rows, columns metric, method")
    assert repr(second) == f"Run({str(tmp_path / 'b')!r}: 12 explanations, 12 scores)"


def test_short_forms(classifier: Callable[..., Classifier], instances: list[Instance]) -> None:
    model = verax.load_model(
        lambda texts: [[len(text) / 10, 0] for (text,) in texts], labels=["a", "b"], outputs="logits"
    )
    made = verax.explain(model, "boats on lakes here", method={"leave_one_out": {"removal": "delete"}})
    assert repr(made) == "<Explanation of 'a' by leave_one_out(removal=delete): boats 0.6, lakes 0.6, here 0.5, ...>"
    assert repr(Dataset("pairs", tuple(instances), ("yes", "no"))) == "<Dataset pairs: 5 instances, classes yes, no>"
    assert repr(classifier("bert")).startswith("<HFClassifier ")
    assert repr(verax.explain_all(model, "a b", methods=["random"])) == "<SideBySide of 'a': random; 0 skipped>"


def test_the_version_is_that_of_the_distribution() -> None:
    assert verax.__version__ == importlib.metadata.version("verax")


def test_a_model_that_was_not_loaded_is_rejected_with_what_to_do() -> None:
    def probabilities(texts: list[tuple[str, ...]]) -> list[list[float]]:
        return [[0.5, 0.5] for _ in texts]

    rows = [{"text": "a good film", "label": "pos"}]
    for call in (
        lambda: verax.explain(probabilities, "a good film"),
        lambda: verax.explain_all(probabilities, "a good film"),
        lambda: verax.evaluate(probabilities, rows, ["leave_one_out"], ["comprehensiveness"]),
        lambda: verax.audit(probabilities, rows),
    ):
        with pytest.raises(UserError, match="got function; load_model takes names, folders, pipelines and functions"):
            call()


def test_an_audit_takes_tables_in_memory(tmp_path: Path) -> None:
    def probabilities(texts: list[tuple[str, ...]]) -> list[list[float]]:
        return [[0.9, 0.1] if "good" in text else [0.2, 0.8] for (text,) in texts]

    rows = [{"text": f"a {word} film", "label": "pos"} for word in ("good", "bad", "good old")]
    model = verax.load_model(probabilities, labels=["pos", "neg"])
    run = verax.audit(model, pd.DataFrame(rows), out=tmp_path / "run", progress=False)
    assert [one.parts[0].raw for one in run.inputs()] != []
    assert len(run.instances) == 3
