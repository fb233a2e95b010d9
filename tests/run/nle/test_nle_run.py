"""Whole runs of a model that follows a rule: what is stored, and what is not asked again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import text_runs
from support.rigged import NLI, Rigged
from support.text_runs import PAIRS, content, execute_run
from verax.models import self_explainer
from verax.results.run import Run
from verax.store.read import read_rows
from verax.types import Generated, Nle, Score


def asked(model: Rigged) -> int:
    """How many passes a model was asked for, from now on from zero."""
    total = sum(len(prompts) for _, prompts in model.calls)
    model.calls.clear()
    return total


def by_metric(run: Run, name: str) -> list[Score]:
    return [score for score in run.score_rows() if score.metric.startswith(name)]


def test_every_row_is_there_and_counted(model: Rigged, tmp_path: Path) -> None:
    run = execute_run(content(tmp_path), tmp_path / "run")
    assert run.tables.card["counts"] == {"rows": 24, "done": 18, "failed": 0, "skipped": 6}
    assert len(run.inputs()) == len(run.texts()) == len(PAIRS)
    assert {nle.method for nle in run.texts()} == {"mt_ra"}
    assert {(nle.text, nle.label, nle.label_source) for nle in run.texts()} == {
        ("nothing is said of it", "neutral", "likelihood")
    }
    assert {nle.labels for nle in run.texts()} == {NLI}
    tests = by_metric(run, "counterfactual_test")
    assert [score.value for score in tests] == [1.0] * 6, "it names the word that decides"
    for score in tests:
        assert score.trial_log is not None
        assert {trial.words for trial in score.trial_log.trials if trial.kind == "edit"} == {text_runs.WORD}
        assert sum(trial.kind == "noise" for trial in score.trial_log.trials) == 2
    assert [score.reason for score in by_metric(run, "reconstruction_test")] == ["no_reconstruction"] * 6
    assert [score.value for score in by_metric(run, "bleu")] == [1.0] * 6
    assert run.tables.card["model"]["setup"] == "mt_ra"
    assert run.tables.card["model"]["prompts"]["hash"]
    assert [one["label"] for one in run.tables.card["methods"]] == ["mt_ra"]
    assert "requests" not in run.tables.card
    assert not any(isinstance(row, Generated) for _, row in read_rows(run.folder)), "a local model costs no money"


def test_a_model_that_copies_its_input_is_consistent_and_read_as_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copying = Rigged(text_runs.decides, lambda prompt: prompt)
    monkeypatch.setattr(self_explainer, "load_generator", lambda *_, **__: copying)
    run = execute_run(content(tmp_path, metrics=[text_runs.counterfactual(tmp_path)]), tmp_path / "run")
    assert [score.value for score in run.score_rows()] == [1.0] * 6
    (row,) = run.study("free_text").noise
    assert row.chance is not None
    assert row.mentioned is not None
    assert (row.chance.value, row.mentioned.value, row.reading) == (1.0, 1.0, "copies")


def test_what_is_there_is_not_asked_again(model: Rigged, tmp_path: Path) -> None:
    first = execute_run(content(tmp_path), tmp_path / "run")
    assert asked(model) > 0
    again = execute_run(content(tmp_path), tmp_path / "run")
    assert asked(model) == 0
    assert again.texts() == first.texts()
    assert again.score_rows() == first.score_rows()
    assert again.tables.card["created"] == first.tables.card["created"]


def test_a_larger_limit_keeps_what_is_there(model: Rigged, tmp_path: Path) -> None:
    def limited(limit: int | None) -> dict[str, Any]:
        given = content(tmp_path)
        return {**given, "data": {"name": given["data"], **({} if limit is None else {"limit": limit})}}

    for limit in (1, 4, None):
        execute_run(limited(limit), tmp_path / "run")
        assert asked(model) > 0
    piecewise = Run(tmp_path / "run")
    whole = execute_run(limited(None), tmp_path / "whole")
    assert [score.value for score in piecewise.score_rows()] == [score.value for score in whole.score_rows()]
    total = asked(model)
    for limit in (1, 4, None):
        execute_run(limited(limit), tmp_path / "again")
    assert asked(model) == total, "in pieces as many passes as at once"
    assert execute_run(limited(2), tmp_path / "run").tables.card["counts"]["rows"] == 8, "and a smaller one shows fewer"
    assert asked(model) == 0


def test_one_more_metric_asks_for_its_own_rows_alone(model: Rigged, tmp_path: Path) -> None:
    execute_run(content(tmp_path, metrics=["bleu"]), tmp_path / "run")
    explained = asked(model)
    more = execute_run(content(tmp_path), tmp_path / "run")
    beside = asked(model)
    assert more.tables.card["counts"]["rows"] == 24
    execute_run(content(tmp_path), tmp_path / "whole")
    assert explained + beside == asked(model)
    fewer = execute_run(content(tmp_path, metrics=["reconstruction_test"]), tmp_path / "run")
    assert fewer.tables.card["counts"]["rows"] == len(fewer.texts()) + len(fewer.score_rows()) == 12
    assert asked(model) == 0


@pytest.mark.parametrize("setup", [None, "mt_ra"])
def test_a_larger_limit_that_shows_more_classes_keeps_what_is_there(
    setup: str | None, model: Rigged, tmp_path: Path
) -> None:
    home = text_runs.write_model(tmp_path / "m", setup)
    data = {"name": content(tmp_path)["data"]}

    def keys(limit: int) -> set[str]:
        run = execute_run(
            content(tmp_path, model=str(home), data={**data, "limit": limit}, metrics=["bleu"]), tmp_path / "run"
        )
        return {key for key, row in read_rows(run.folder) if isinstance(row, Nle)}

    before = keys(1)
    asked(model)
    assert keys(1) == before
    assert asked(model) == 0
    assert before < keys(6)
    setups = 2 if setup is None else 1
    assert len(keys(6)) == 6 * setups


def test_classes_that_are_named_or_known_are_not_added_to(model: Rigged, tmp_path: Path) -> None:
    """Of inference few inputs may show two classes of three; a person who names two means two, and so does a model."""
    two = [pair for pair in PAIRS if pair[2] != "neutral"]
    data = str(text_runs.write_data(tmp_path / "two.jsonl", two))
    (tmp_path / "p.txt").write_text("[answer]\n{1} {2}\n[explain_label]\n{1} {2} {label}")
    prompted = {"name": str(text_runs.write_model(tmp_path / "m", None)), "prompts": str(tmp_path / "p.txt")}
    named = ["entailment", "contradiction"]

    def labels(**changes: Any) -> tuple[str, ...]:
        return text_runs.prepared(content(tmp_path, **{"data": data, "metrics": ["bleu"], **changes})).run.model.labels

    as_generator = {"methods": ["answer_then_explain"], "model": prompted}
    assert labels(**as_generator) == NLI
    assert labels(**{**as_generator, "model": {**prompted, "labels": named}}) == tuple(named)
    assert labels(**as_generator, data={"name": data, "labels": named}) == tuple(named)
    home = text_runs.write_model(tmp_path / "trained")
    facts = json.loads((home / "nle.json").read_text())
    (home / "nle.json").write_text(json.dumps({**facts, "labels": named}))
    assert labels(model=str(home)) == tuple(named)


def test_few_inputs_of_other_classes_show_all_of_them(model: Rigged, tmp_path: Path) -> None:
    """Classes that are only seen in the data are those of the whole of it, not of the few that are asked about."""
    home = text_runs.write_model(tmp_path / "m", None)
    pairs = [(premise, hypothesis, f"kind {number % 2}") for number, (premise, hypothesis, _) in enumerate(PAIRS)]
    data = text_runs.write_data(tmp_path / "kinds.jsonl", pairs)
    (tmp_path / "p.txt").write_text("[answer]\n{1} {2}\n[explain_label]\n{1} {2} {label}")
    spec = content(
        tmp_path,
        model={"name": str(home), "prompts": str(tmp_path / "p.txt")},
        data={"name": str(data), "limit": 1},
        methods=["answer_then_explain"],
        metrics=["bleu"],
    )
    run = execute_run(spec, tmp_path / "run")
    assert run.tables.card["model"]["labels"] == ["kind 0", "kind 1"]


def test_two_set_ups_of_a_prompted_model_in_one_run(model: Rigged, tmp_path: Path) -> None:
    home = text_runs.write_model(tmp_path / "instructed", None)
    run = execute_run(content(tmp_path, model=str(home)), tmp_path / "run")
    assert Counter(nle.method for nle in run.texts()) == {"explain_then_answer": 6, "answer_then_explain": 6}
    assert run.tables.card["counts"]["rows"] == 2 * 24
    assert run.tables.card["model"]["setup"] == "prompted"
    asked(model)
    assert (
        execute_run(content(tmp_path, model=str(home), methods=["answer_then_explain"]), tmp_path / "run").tables.card[
            "counts"
        ]["rows"]
        == 24
    )
    assert asked(model) == 0, "one of them is there already"


def test_other_prompts_are_another_question(model: Rigged, tmp_path: Path) -> None:
    home, prompts = text_runs.write_model(tmp_path / "instructed", None), tmp_path / "mine.txt"
    prompts.write_text("[answer]\n{1} {2} Which?\n[explain_label]\n{1} {2} {label} Why?")
    own = {"name": str(home), "prompts": str(prompts)}
    spec = content(tmp_path, model=own, methods=["answer_then_explain"], metrics=["bleu"])
    first = execute_run(spec, tmp_path / "run")
    assert model.calls[0][1][0] == "The gardener waters a rose. A woman sleeps. Which?"
    asked(model)
    prompts.write_text(prompts.read_text().replace("Why?", "Why so?"))
    second = execute_run(spec, tmp_path / "run")
    assert asked(model) == 12
    assert second.tables.card["counts"] == first.tables.card["counts"]
    assert second.tables.card["model"]["prompts"]["hash"] != first.tables.card["model"]["prompts"]["hash"]


def test_what_can_t_be_had_is_a_row_with_its_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    silent = Rigged(text_runs.decides, lambda prompt: "" if "dog" in prompt else "so it is")
    monkeypatch.setattr(self_explainer, "load_generator", lambda *_, **__: silent)
    run = execute_run(content(tmp_path, metrics=["bleu"]), tmp_path / "run")
    (skip,) = run.skips()
    assert (skip.instance_id, skip.reason, skip.failed) == ("2", "empty_answer", False)
    (score,) = [score for score in run.score_rows() if score.instance_id == "2"]
    assert (score.value, score.reason) == (None, "empty_answer")
    assert run.tables.card["counts"] == {"rows": 12, "done": 10, "failed": 0, "skipped": 2}
    silent.calls.clear()
    execute_run(content(tmp_path, metrics=["bleu"]), tmp_path / "run")
    assert silent.calls == [], "a local model says the same another time"


def test_an_input_without_words_is_not_asked_about(model: Rigged, tmp_path: Path) -> None:
    pairs = [("A boat.", " ", "neutral"), PAIRS[0]]
    data = text_runs.write_data(tmp_path / "empty.jsonl", pairs)
    run = execute_run(content(tmp_path, data=str(data), metrics=["bleu"]), tmp_path / "run")
    assert [(skip.instance_id, skip.reason) for skip in run.skips()] == [("1", "empty")]
    assert not any("A boat." in prompt for _, prompts in model.calls for prompt in prompts)


def test_a_dry_run_writes_nothing(model: Rigged, verax: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(content(tmp_path)))
    said = verax("run", "spec.yaml", "--out", "run", "--dry-run")
    assert said.code == 0
    assert "6 instances x 1 method x 3 metrics: 24 rows (explanations, scores) in run" in said.err
    assert "done already: 0; to do: 24" in said.err
    assert "generated texts" in said.out
    assert not (tmp_path / "run").exists()
    assert verax("run", "spec.yaml", "--out", "run", "--limit", "2").code == 0
    assert "done already: 8" in verax("run", "spec.yaml", "--out", "run", "--dry-run").err


def test_the_command_prints_the_tables_and_writes_the_report(
    model: Rigged, verax: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(content(tmp_path)))
    said = verax("run", "spec.yaml", "--out", "run")
    assert said.code == 0, said.err
    assert "Counterfactual consistency test" in said.out
    assert "24 rows = 18 done + 0 failed + 6 skipped" in said.out
    assert "no_reconstruction 6" in said.out
    assert verax("report", "run").code == 0
    page = (tmp_path / "run" / "report.html").read_text()
    assert "it is crimson" in page
    assert json.loads((tmp_path / "run" / "run.json").read_text())["command"] == "verax run spec.yaml --out run"
    for format_ in ("json", "csv", "latex", "markdown"):
        assert verax("show", "run", "--study", "free_text", "--format", format_).code == 0


def test_a_real_generator_goes_all_the_way(tmp_path: Path) -> None:
    """Babble of an untrained model, but by the way that a trained one takes; the second run is from the store."""
    from support import tiny_text

    home = text_runs.write_model(tmp_path / "real", "mt_re")
    tiny_text.save_generator("t5", home)
    spec = content(tmp_path, data={"name": content(tmp_path)["data"], "limit": 2}, model=str(home))
    run = execute_run(spec, tmp_path / "run")
    assert run.tables.card["counts"]["rows"] == 8
    assert run.tables.card["counts"]["failed"] == 0
    assert len(run.texts()) + len(run.skips()) == 2
    assert {nle.label for nle in run.texts()} <= set(NLI)
    assert all(sum(nle.probabilities) == pytest.approx(1) for nle in run.texts())
    assert execute_run(spec, tmp_path / "run").score_rows() == run.score_rows()


def test_the_length_of_explanations_is_that_of_the_spec_or_the_flag(verax: Callable[..., Any], tmp_path: Path) -> None:
    """Three tokens are too few for any explanation: nothing is tested, and the table counts it by the reason."""
    model = {"name": "world/nli-mt-ra", "max_new_tokens": 3}
    tests = ["counterfactual_test", "reconstruction_test"]
    spec = {"model": model, "data": {"name": "world/nli", "limit": 2}, "metrics": tests}
    run = execute_run(spec, tmp_path / "run")
    assert all(nle.notes["cut_off"] and len(nle.text.split()) <= 3 for nle in run.texts())
    assert [score.reason for score in run.score_rows()] == ["cut_off"] * 4
    found = run.study("free_text")
    assert [row.untested for row in (*found.counterfactual, *found.reconstruction)] == [{"cut_off": 2}] * 2
    said = verax("explain", *PAIRS[0][:2], "--model", model["name"], "--max-new-tokens", "3", "--json")
    assert len(json.loads(said.out)["text"].split()) <= 3
    refused = verax("explain", *PAIRS[0][:2], "--model", "world/nli", "--max-new-tokens", "3")
    assert refused.err == "error: --max-new-tokens: it is for models that explain themselves in free text\n"


def test_inputs_without_a_gold_class_are_explained_too(model: Rigged, tmp_path: Path) -> None:
    data = tmp_path / "bare.jsonl"
    data.write_text(json.dumps({"premise": "A boat.", "hypothesis": "A lake."}) + "\n")
    run = execute_run(content(tmp_path, data=str(data)), tmp_path / "run")
    assert [nle.label for nle in run.texts()] == ["neutral"]
    assert [score.reason for score in by_metric(run, "bleu")] == ["no_gold"]


def test_gold_classes_that_a_prompted_model_is_not_offered_are_warned_of(model: Rigged, tmp_path: Path) -> None:
    home = text_runs.write_model(tmp_path / "instructed", None)
    spec = content(tmp_path, model={"name": str(home), "labels": list(NLI)}, metrics=["bleu"])
    spec["data"] = str(text_runs.write_data(tmp_path / "odd.jsonl", [("A boat.", "A lake.", "unsure"), *PAIRS[:2]]))
    run = execute_run(spec, tmp_path / "run")
    assert run.tables.card["warnings"] == ["labels that the model has no class for: unsure"]
    assert len(run.texts()) == 6


def test_a_gold_class_in_other_letters_is_one_that_the_model_has(model: Rigged, tmp_path: Path) -> None:
    home = text_runs.write_model(tmp_path / "instructed", None)
    spec = content(tmp_path, model={"name": str(home), "labels": list(NLI)}, metrics=["bleu"])
    spec["data"] = str(text_runs.write_data(tmp_path / "large.jsonl", [(*pair[:2], "Neutral") for pair in PAIRS[:2]]))
    run = execute_run(spec, tmp_path / "run")
    assert run.tables.card["warnings"] == []
    assert [row.judged for row in run.study("free_text").performance] == [2, 2]
