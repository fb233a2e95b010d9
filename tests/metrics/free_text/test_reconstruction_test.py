"""The reconstruction test: inference, commonsense validation and questions, on models that follow a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.rigged import NLI, Rigged, explained, instance, posed, result
from verax.engine.protocols import AnsweringMethod, TextMetric
from verax.methods.answering import AnswerThenExplain, MTRa, STRa, STRe
from verax.metrics.free_text.reconstruction import (
    ComveByReplacement,
    ModelWritten,
    NliByTemplates,
    Reconstruction,
    ReconstructionTest,
    fitting,
)
from verax.models.subject import Subject
from verax.types import Nle, Target, Undefined

PAIR = ("A cook in a tall hat stirs soup.", "It is raining outside.")
SENTENCES = ("Cats read long books.", "Cats chase mice.")
EXPLANATION = "just because a cook wears a hat does not mean it is raining"


def verdict(
    x: Subject, text: str, label: str, setup: AnsweringMethod | None = None, by: Reconstruction | None = None
) -> Any:
    nle = Nle("i", "m", Target(), text, label, x.model.labels)
    return result(ReconstructionTest(by)(x, nle, setup=MTRa() if setup is None else setup))


def test_it_is_a_metric_of_text() -> None:
    assert isinstance(ReconstructionTest(), TextMetric)
    assert ReconstructionTest().provenance == {}
    assert ReconstructionTest(ComveByReplacement()).provenance == ComveByReplacement().provenance


@pytest.mark.parametrize(
    ("labels", "parts", "expected"),
    [
        (NLI, 2, NliByTemplates()),
        (("contradiction", "entailment", "neutral"), 2, NliByTemplates()),
        (("Entailment", "Neutral", "Contradiction"), 2, NliByTemplates()),
        (("first", "second"), 2, ComveByReplacement()),
        (("First", "Second"), 2, ComveByReplacement(("First", "Second"))),
        (("A", "B", "C"), 4, ModelWritten()),
        (("positive", "negative"), 1, ModelWritten()),
        (NLI, 1, ModelWritten()),
    ],
)
def test_the_task_decides_how_inputs_are_made(labels: tuple[str, ...], parts: int, expected: Reconstruction) -> None:
    assert fitting(labels, parts) == expected
    assert isinstance(expected, Reconstruction)


@pytest.mark.parametrize("setup", [MTRa(), STRe(), STRa()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(("word", "value"), [("stirs", 0.0), ("hat", 1.0)])
def test_an_inference_whose_reasons_hold_the_word_that_decides(setup: AnsweringMethod, word: str, value: float) -> None:
    """The class hangs on one word of the premise, which the explanation has or has not."""
    model = Rigged(lambda p: "neutral" if word in p.partition("because:")[0] else "entailment", lambda _: EXPLANATION)
    x = posed(instance(*PAIR), model)
    nle = explained(x, setup)
    found = result(ReconstructionTest()(x, nle, setup=setup))
    [trial] = found.trial_log.trials
    assert (nle.label, found.value, found.reason) == ("neutral", value, None)
    assert (trial.kind, trial.flipped, found.trial_log.tried, found.trial_log.decisive) == (
        "reconstruction",
        not value,
        1,
        0,
    )
    assert trial.parts == ("A cook wears a hat.", "It is raining.")
    assert trial.predicted == ("neutral" if value else "entailment")
    assert trial.notes["speaks_for"] == "neutral"
    assert trial.explanation == (None if isinstance(setup, MTRa) else EXPLANATION)


@pytest.mark.parametrize(
    ("text", "reason"), [("the cook sleeps", "no_template"), (" ", "empty"), ("he smiles implies rain", "no_subject")]
)
def test_without_two_statements_there_is_no_verdict(text: str, reason: str) -> None:
    found = verdict(posed(instance(*PAIR), Rigged()), text, "neutral")
    assert (found.value, found.reason) == (None, "no_reconstruction")
    assert found.detail.startswith(reason)
    assert (found.trial_log.tried, found.trial_log.trials, found.trial_log.decisive) == (0, (), None)


@pytest.mark.parametrize(
    ("predicted", "value", "parts"),
    [
        ("first", 1.0, ("Cats read long books.", "Cats can not read")),
        ("second", 0.0, ("Cats can not read", "Cats chase mice.")),
    ],
)
def test_the_sentence_that_is_right_makes_room_for_the_explanation(
    predicted: str, value: float, parts: tuple[str, str]
) -> None:
    x = posed(instance(*SENTENCES), Rigged(lambda _: "first"), labels=("first", "second"))
    found = verdict(x, "Cats can not read", predicted)
    [trial] = found.trial_log.trials
    assert (found.value, trial.parts, trial.predicted) == (value, parts, "first")


def question(writes: Callable[[str], str], trained: bool = False) -> Subject:
    model = Rigged(lambda p: "B" if "difficulty" in p.partition("\n")[0] else "A", writes)
    given = instance("Drunk people slur, so nobody understood his what?", "low standards", "slurred speech", "falls")
    return posed(given, model, labels=("A", "B", "C"), trained_as="mt_ra" if trained else None)


REASON = "drunk people can hardly speak"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("What do drunk people have difficulty with?\nA: low standards\nB: speaking\nC: falls", 1.0),
        ("- What is hard?\n\n- low standards\n- speaking\n- falls\n", 0.0),
    ],
)
def test_a_model_writes_question_and_choices_again(written: str, value: float) -> None:
    x = question(lambda _: written)
    found = verdict(x, REASON, "B", AnswerThenExplain())
    [trial] = found.trial_log.trials
    assert found.value == value
    assert trial.parts[1:] == ("low standards", "speaking", "falls")
    asked = x.model.explainer.calls[0][1][0]  # type: ignore[attr-defined]
    assert REASON in asked
    assert "B: slurred speech" in asked
    assert "nobody understood" not in asked


@pytest.mark.parametrize(
    ("written", "detail"),
    [
        ("What is hard?", "the answer has 1 lines, expected 4"),
        ("Sure, here it is:\nWhat is hard?\nA: x\nB: y\nC: z", "the answer has 5 lines"),
        ("What is hard?\nB: x\nA: y\nC: z", "the choice of A is labelled B"),
        ("What is hard?\nA: x\n...\nC: z", "a part has no word"),
    ],
)
def test_an_answer_that_is_no_input_makes_none(written: str, detail: str) -> None:
    found = verdict(question(lambda _: written), REASON, "B", AnswerThenExplain())
    assert (found.value, found.reason) == (None, "no_reconstruction")
    assert found.detail.startswith(detail)


def test_a_model_that_was_trained_can_not_be_asked() -> None:
    """That is no result: nothing was tested."""
    with pytest.raises(Undefined, match="unfit: it needs a model that follows instructions"):
        verdict(question(lambda _: "so", trained=True), REASON, "B")


def test_a_model_that_does_not_answer_is_no_explanation_that_can_not_be_read() -> None:
    def silent(_: str) -> str:
        raise Undefined("server_error", "HTTP 500")

    with pytest.raises(Undefined, match="server_error"):
        verdict(question(silent), REASON, "B", AnswerThenExplain())


def test_texts_of_other_tasks_are_written_a_line_for_each_part() -> None:
    model = Rigged(lambda p: "good" if "warm" in p else "bad", lambda _: "Warm soup.")
    x = posed(instance("The soup was warm and the bread fresh."), model, labels=("good", "bad"), trained_as=None)
    found = verdict(x, "warm soup is nice", "good", AnswerThenExplain())
    assert (found.value, found.trial_log.trials[0].parts) == (0.0, ("Warm soup.",))
    assert "bread" not in model.calls[0][1][0]
