"""The set-ups on rigged generators, against Equation 3 worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from support.rigged import NLI, Rigged, ended, instance, result
from verax.engine.protocols import Answer, AnsweringMethod
from verax.engine.questions import QuestionGenerator, together
from verax.methods.answering import AnswerThenExplain, ExplainThenAnswer, MTRa, MTRe, STRa, STRe
from verax.models.generator import ChoicePass, ChosenLabel, GeneratePass, LikelihoodPass
from verax.models.self_explainer import MAX_NEW_TOKENS, SelfExplainer
from verax.models.subject import Subject
from verax.models.wording import Wording
from verax.registry import entries, resolve
from verax.types import FloatArray, Generated, Undefined, UserError

X = instance("A boat.", "A lake.")
WORDING = Wording(
    "[answer]\nanswer {1} {2}\n[explain]\nexplain {1} {2}\n[explain_label]\nexplain {1} {2} as {label}\n"
    "[answer_explanation]\nanswer {1} {2} given {explanation}",
    "test",
)
ANSWER, EXPLAIN = "answer A boat. A lake.", "explain A boat. A lake."


class ByTable(Rigged):
    """Likelihoods by prompt; all other prompts are a mistake."""

    def __init__(self, scores: Mapping[str, Sequence[float]], writes: Callable[[str], str] = lambda _: "so") -> None:
        super().__init__(writes=writes)
        self._scores = scores

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        self._called("likelihoods", passes)
        assert all(one.continuations == NLI for one in passes)
        return [np.array(self._scores[one.prompt.user]) for one in passes]


class Chatty(Rigged):
    """As an endpoint: no likelihoods, one label in words."""

    gives_likelihoods = False

    def choose(self, passes: Sequence[ChoicePass]) -> list[ChosenLabel | Undefined]:
        self._called("choose", passes)
        return [ChosenLabel(self._answers(one.prompt.user), "parsed") for one in passes]

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        raise AssertionError("it gives none")


def posed(explainer: Rigged, predictor: Rigged | None = None, trained_as: Any = "mt_ra") -> Subject:
    return Subject(X, SelfExplainer("m", explainer, predictor or explainer, NLI, WORDING, trained_as))


def said(setup: AnsweringMethod, x: Subject) -> Answer:
    def as_generator() -> QuestionGenerator[Answer]:
        answered = yield from setup.answer(x)
        return (yield from setup.explain(x, answered))

    found: Answer = result(as_generator())
    return found


def asked(model: Rigged) -> list[tuple[str, str]]:
    return [(what, prompt) for what, prompts in model.calls for prompt in prompts]


def test_mt_re_explains_without_knowing_its_answer() -> None:
    model = ByTable({ANSWER: (np.log(0.1), np.log(0.3), np.log(0.6))}, lambda prompt: f"because {prompt}")
    found = said(MTRe(), posed(model))
    assert found.label == "contradiction"
    assert found.probabilities == pytest.approx((0.1, 0.3, 0.6))
    assert found.label_source == "likelihood"
    assert found.text == f"because {EXPLAIN}"
    assert asked(model) == [("likelihoods", ANSWER), ("generate", EXPLAIN)]
    assert not any(label in EXPLAIN for label in NLI)


def test_mt_ra_explains_what_it_predicts() -> None:
    model = ByTable({ANSWER: (-3.0, -1.0, -2.0)}, lambda prompt: f"because {prompt}")
    found = said(MTRa(), posed(model))
    assert (found.label, found.text) == ("neutral", f"because {EXPLAIN} as neutral")
    assert asked(model) == [("likelihoods", ANSWER), ("generate", f"{EXPLAIN} as neutral")]


def test_st_re_answers_by_what_another_model_explains() -> None:
    explainer = Rigged(writes=lambda _: "boats swim")
    predictor = ByTable({f"{ANSWER} given boats swim": (0.0, -1.0, -1.0)})
    found = said(STRe(), posed(explainer, predictor, "st_re"))
    assert (found.label, found.text) == ("entailment", "boats swim")
    assert asked(explainer) == [("generate", EXPLAIN)]
    assert asked(predictor) == [("likelihoods", f"{ANSWER} given boats swim")]


def test_st_ra_takes_the_class_that_its_own_explanation_makes_most_probable() -> None:
    """By hand: P(entailment | e1) = 0.05, P(neutral | e2) = 0.6, P(contradiction | e3) = 0.55.

    The largest probability anywhere is that of neutral given e1 (0.9, of scores shifted by a constant), and the largest
    log-likelihood is that of contradiction given e3: neither is what Equation 3 compares.
    """
    explainer = Rigged(writes=lambda prompt: f"e {prompt.rpartition(' ')[2]}")
    tables = {
        "entailment": (0.05, 0.9, 0.05),
        "neutral": (0.2, 0.6, 0.2),
        "contradiction": (0.15, 0.3, 0.55),
    }
    shifts = {"entailment": -20.0, "neutral": -10.0, "contradiction": 0.0}
    scores = {f"{ANSWER} given e {name}": np.log(row) + shifts[name] for name, row in tables.items()}
    predictor = ByTable(scores)
    found = said(STRa(), posed(explainer, predictor, "st_ra"))
    assert found.label == "neutral"
    assert found.text == "e neutral"
    assert found.probabilities == pytest.approx((0.05, 0.6, 0.55)), "each of its own prompt: they do not sum to 1"
    assert sorted(asked(explainer)) == [("generate", f"{EXPLAIN} as {label}") for label in sorted(NLI)]
    assert sorted(asked(predictor)) == [("likelihoods", f"{ANSWER} given e {label}") for label in sorted(NLI)]


def test_a_tie_goes_to_the_first_class() -> None:
    explainer, predictor = Rigged(writes=lambda _: "e"), ByTable({f"{ANSWER} given e": (0.0, 0.0, 0.0)})
    assert said(STRa(), posed(explainer, predictor, "st_ra")).label == "entailment"
    assert said(STRe(), posed(explainer, predictor, "st_re")).label == "entailment"


@pytest.mark.parametrize(("prompted", "trained"), [(ExplainThenAnswer(), STRe()), (AnswerThenExplain(), MTRa())])
def test_instruction_models_are_asked_in_the_same_order(prompted: AnsweringMethod, trained: AnsweringMethod) -> None:
    rule = {"answers": lambda prompt: "neutral", "writes": lambda prompt: f"for {prompt}"}
    first, second = Rigged(**rule), Rigged(**rule)  # type: ignore[arg-type]
    assert said(prompted, posed(first, trained_as=None)) == said(trained, posed(second))
    assert first.calls == second.calls
    assert (prompted.trained, trained.trained) == (False, True)
    assert prompted.stages == trained.stages


@pytest.mark.parametrize("setup", [ExplainThenAnswer(), AnswerThenExplain()], ids=lambda one: type(one).__name__)
def test_a_model_without_likelihoods_is_asked_for_a_label_and_counted_as_parsed(setup: AnsweringMethod) -> None:
    model = Chatty(lambda prompt: "contradiction", lambda prompt: "boats swim")
    found = said(setup, posed(model, trained_as=None))
    assert (found.label, found.probabilities, found.label_source) == ("contradiction", (), "parsed")
    assert {what for what, _ in asked(model)} == {"choose", "generate"}


def test_st_ra_can_t_be_had_of_a_model_without_likelihoods() -> None:
    model = Chatty(lambda _: "neutral")
    with pytest.raises(UserError, match=r"st_ra compares likelihoods, .* gives none; use explain_then_answer"):
        said(STRa(), posed(model))
    assert model.calls == [], "nothing is asked that can lead nowhere"


@pytest.mark.parametrize("setup", [MTRe(), MTRa(), STRe(), STRa()], ids=lambda one: type(one).__name__)
def test_what_is_asked_twice_is_asked_once(setup: AnsweringMethod) -> None:
    model = Rigged(lambda _: "neutral")
    x = posed(model)

    def all_of_it() -> QuestionGenerator[list[Any]]:
        again = replace(X, id="the same text")
        return (yield from together(setup.answer(one) for one in (x, x.edited(again), x)))

    first, *others = result(all_of_it())
    assert others == [first, first]
    once = asked(model)
    assert len(once) == len(set(once))
    result(all_of_it())
    assert asked(model) == once, "also in another round"


def test_different_generators_are_asked_the_same_each() -> None:
    explainer, predictor = Rigged(lambda _: "neutral"), Rigged(lambda _: "contradiction")
    x = posed(explainer)
    apart = Subject(X, posed(explainer, predictor).model, memo=x.memo)
    assert said(MTRe(), x).label == "neutral"
    assert said(MTRe(), apart).label == "contradiction", "what one answered is not taken for what another would"


def test_an_explanation_is_one_line_of_words() -> None:
    told = " Boats \t swim.\n\nanswer: and then it babbles"
    trained = posed(Rigged(lambda _: "neutral", lambda _: told))
    assert said(MTRe(), trained).text == "Boats swim.", "a trained model ends its line"
    prompted = posed(Rigged(lambda _: "neutral", lambda _: told), trained_as=None)
    assert said(AnswerThenExplain(), prompted).text == "Boats swim. answer: and then it babbles"


def test_what_is_cut_off_is_noted() -> None:
    class Cut(Rigged):
        def generate(self, passes: Sequence[GeneratePass]) -> list[Generated | Undefined]:
            assert {(one.max_new_tokens, one.temperature) for one in passes} == {(MAX_NEW_TOKENS, 0.0)}
            return [Generated(self._writes(one.prompt.user), "length", 64) for one in passes]

    assert said(MTRe(), posed(Cut(lambda _: "neutral"))).notes == {"cut_off": True}
    whole = Cut(lambda _: "neutral", lambda _: "a whole line\nand half of ano")
    assert said(MTRe(), posed(whole)).notes == {}, "only what is left out was cut off"
    assert said(AnswerThenExplain(), posed(whole, trained_as=None)).notes == {"cut_off": True}
    assert said(MTRe(), posed(Rigged(lambda _: "neutral"))).notes == {}


@pytest.mark.parametrize("setup", [MTRe(), MTRa(), STRe(), STRa()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("text", ["", " \n", "\nso"])
def test_no_words_are_no_explanation(setup: AnsweringMethod, text: str) -> None:
    def as_generator() -> QuestionGenerator[Answer]:
        return (yield from setup.explain(x, (yield from setup.answer(x))))

    x = posed(Rigged(lambda _: "neutral", lambda _: text))
    if text.strip():
        assert said(setup, x).text == "so", "a line that is empty is no line"
        return
    outcome = ended(as_generator())
    assert isinstance(outcome.error, Undefined)
    assert outcome.error.reason == "empty_answer"


def test_every_set_up_is_registered_under_its_name() -> None:
    named = {name: resolve("methods", name) for name, entry in entries("methods").items() if entry.kind == "text"}
    assert named.pop("known_text").reference == "control"
    assert named == {
        "mt_re": MTRe,
        "mt_ra": MTRa,
        "st_re": STRe,
        "st_ra": STRa,
        "explain_then_answer": ExplainThenAnswer,
        "answer_then_explain": AnswerThenExplain,
    }
    assert all(isinstance(kind(), AnsweringMethod) for kind in named.values())
