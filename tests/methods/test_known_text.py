"""Texts of known truth name the reasons, also those of edited inputs, and tests of free text tell them apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.rules import label_of
from verax.api import Run, evaluate
from verax.data.load import load_dataset
from verax.data.rules import reasons_of, rule_of
from verax.data.text import split_words
from verax.metrics.free_text.editing import Insertion
from verax.metrics.free_text.mentioned_words import MentionedWords
from verax.metrics.free_text.rule_editor import RuleEditor
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.types import Instance, Trial, Undefined

INPUTS = load_dataset("rules/mixed", limit=40).instances
TRUTHS = ("true", "partial", "random", "plausible", "inverted")
METRICS = [{"counterfactual_test": {"editor": "rule_words"}}, {"reconstruction_test": {"by": "mentioned_words"}}]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Texts of every truth for inputs that a word decides unless a negation flips it, and for some others."""
    methods = [{"known_text": {"truth": truth}} for truth in TRUTHS]
    data = {"name": "rules/negation", "limit": 24}
    return evaluate("rules/mixed", data, methods, METRICS, out=tmp_path_factory.mktemp("texts"), progress=False)


def ended(generator: Any) -> Any:
    with pytest.raises(StopIteration) as end:
        next(generator)
    return end.value.value


def words_of(text: str) -> set[str]:
    return {*text.removeprefix("Because of ").removesuffix(".").split(", ")}


def annotated(instance: Instance) -> set[str]:
    return {instance.parts[part].words[word] for part, word in instance.annotated}


def test_reasons_are_those_that_are_annotated() -> None:
    assert {rule_of(instance) for instance in INPUTS} == {"word", "conjunction", "negation", "span_pair"}
    for instance in INPUTS:
        assert reasons_of(instance) == instance.annotated


def test_half_of_the_inputs_of_the_negation_have_one() -> None:
    counts = [len(instance.annotated) for instance in load_dataset("rules/negation", limit=200).instances]
    assert set(counts) == {1, 2}
    assert 70 <= counts.count(2) <= 130


def test_a_text_names_as_many_words_as_there_are_reasons(run: Run) -> None:
    inputs = {instance.id: instance for instance in run.inputs()}
    for row in run.texts():
        truth = run.manifest.method(row.method).parameters["truth"]
        named, gold = words_of(row.text), annotated(inputs[row.instance_id])
        assert row.label == inputs[row.instance_id].label
        if truth == "true":
            assert named == gold
        elif truth == "partial":
            assert 0 < len(named & gold) == len(gold) - len(gold) // 2
            assert named - gold
        elif truth in {"plausible", "inverted"}:
            assert named.isdisjoint(gold)
        if truth in {"true", "plausible"}:
            assert len(named) == len(gold)


def trials(run: Run, truth: str) -> list[Trial]:
    label = next(entry.label for entry in run.manifest.methods if entry.parameters.get("truth") == truth)
    logs = [row.trial_log for row in run.score_rows() if row.method == label and row.metric.startswith("counter")]
    return [trial for log in logs if log is not None for trial in log.trials if trial.kind == "edit"]


def test_the_true_text_of_an_edited_input_names_the_word_that_flips_it(run: Run) -> None:
    found = trials(run, "true")
    assert len(found) > 5
    for trial in found:
        assert label_of([part.split() for part in trial.parts]) == trial.predicted
        assert trial.mentioned
        assert trial.words in words_of(trial.explanation or "")
    assert not all(trial.mentioned for trial in trials(run, "plausible"))


def test_both_tests_tell_true_texts_from_wrong_ones(run: Run) -> None:
    result = run.study("diagnosticity")
    assert [one.study.name for one in run.findings()] == ["diagnosticity"]
    for trial in result.trials:
        assert trial.kind == "text"
        assert trial.standing == "better"
        best = trial.by_pair[("true", "plausible")]
        assert best is not None
        assert best.value == 1.0


def test_the_editor_proposes_defined_edits_of_rule_models_only() -> None:
    x = Subject(INPUTS[0], load_model("rules/mixed"))
    proposals = ended(RuleEditor(edits=30).propose(x, ()))
    assert 0 < len(proposals) <= 30
    assert proposals == ended(RuleEditor(edits=30).propose(x, ()))
    for insertion, wanted in proposals:
        assert wanted == ""
        label_of([part.words for part in insertion.apply(x.instance).parts])  # raises where two classes fire
    assert ended(RuleEditor().propose(Subject(INPUTS[0], load_model("world/nli")), ())) == ()


def test_other_models_have_no_known_reasons_of_edited_inputs() -> None:
    from verax.methods.known_text import KnownText

    edited = Insertion(0, 0, ("never",)).apply(INPUTS[0])
    with pytest.raises(Undefined, match="no_gold"):
        next(KnownText().explain(Subject(edited, load_model("world/nli")), None))  # type: ignore[arg-type]


def test_mentioned_words_are_kept_in_order() -> None:
    instance = Instance("x", (split_words("The old boat sinks"), split_words("Nobody cares")))
    x = Subject(instance, None)
    made = MentionedWords().reconstruct(x, "Because of sinks, BOAT.", "no").instance
    assert [part.raw for part in made.parts] == ["boat sinks", "..."]
    assert made.label is None
    with pytest.raises(Undefined, match="mentions no word"):
        MentionedWords().reconstruct(x, "Because.", "no")


def test_a_model_that_writes_no_text_cannot_write_the_input(tmp_path: Path) -> None:
    data = {"name": "rules/word", "limit": 2}
    run = evaluate("rules/word", data, ["known_text"], ["reconstruction_test"], out=tmp_path, progress=False)
    assert {row.reason for row in run.score_rows()} == {"unfit"}
