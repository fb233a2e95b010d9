"""The counterfactual test on models that follow a rule: one word decides, and explanations name it or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from support.rigged import Rigged, ended, explained, insertion_of, instance, posed, result
from verax.engine.protocols import AnsweringMethod, TextMetric
from verax.engine.questions import QuestionGenerator
from verax.methods.answering import MTRa, MTRe, STRa, STRe
from verax.metrics.free_text.counterfactual_test import CounterfactualTest
from verax.metrics.free_text.editing import Editor, Proposal, Proposals
from verax.metrics.free_text.mention import SemanticMatch
from verax.metrics.free_text.random_editor import RandomEditor
from verax.metrics.free_text.reconstruction import ReconstructionTest
from verax.models.generator import GeneratePass
from verax.models.load import load_encoder
from verax.models.subject import Subject
from verax.types import Generated, TrialLog, Undefined, UserError

PREMISE = "The gardener waters the roses while children chase a dog around the pond."
HYPOTHESIS = "A woman is sleeping."
VOCABULARY = ("tulip", "lantern", "walks", ".", "9")
SET_UPS = (MTRe(), MTRa(), STRe(), STRa())


def decides(prompt: str) -> str:
    """`crimson` in the input makes it a contradiction."""
    return "contradiction" if "crimson" in prompt else "neutral"


def names_it(prompt: str) -> str:
    return "it is crimson" if "crimson" in prompt else "nothing is said of it"


def never_names_it(prompt: str) -> str:
    return "nothing is said of it"


def copies(prompt: str) -> str:
    return prompt


@dataclass(frozen=True)
class Given:
    """An editor that proposes what it is told to."""

    proposals: Proposals
    provenance: Mapping[str, str] = field(default_factory=dict)

    def max_inputs(self, parts: int, labels: int) -> int:
        return len(self.proposals)

    def propose(
        self, x: Subject, wanted: Sequence[str], parts: Collection[int] | None = None
    ) -> QuestionGenerator[Proposals]:
        yield from ()
        return self.proposals


def given(*insertions: tuple[int, int, str], wanted: str = "") -> Given:
    return Given(tuple(Proposal(insertion_of(*one), wanted) for one in insertions))


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> RandomEditor:
    folder = tmp_path_factory.mktemp("wordnet")
    for file, kind, words in (("data.adj", "a", ("crimson", "tall", "wide")), ("data.adv", "r", ("often", "never"))):
        lines = [f"{number:08} 00 {kind} 01 {word} 0 000 | none\n" for number, word in enumerate(words)]
        (folder / file).write_text("".join(lines))
    return RandomEditor(wordnet=str(folder))


def verdict(
    test: CounterfactualTest,
    writes: Callable[[str], str],
    setup: AnsweringMethod | None = None,
    parts: Sequence[str] = (PREMISE, HYPOTHESIS),
    **handed: Any,
) -> tuple[Any, Rigged]:
    """The verdict, and the model that was asked, from where the test begins."""
    setup = MTRa() if setup is None else setup
    model = Rigged(decides, writes)
    nle = explained(posed(instance(*parts), model), setup)
    model.calls.clear()
    options = {"vocabulary": VOCABULARY, "encoder": None, **handed}
    as_generator = test(posed(instance(*parts), model), nle, setup=setup, **options)
    return result(as_generator, options["encoder"]), model


def of_kind(card: TrialLog, kind: str) -> list[Any]:
    return [trial for trial in card.trials if trial.kind == kind]


def test_it_is_a_metric_of_text(editor: RandomEditor) -> None:
    assert isinstance(CounterfactualTest(), TextMetric)
    assert isinstance(editor, Editor)
    assert isinstance(given(), Editor)


@pytest.mark.parametrize("setup", SET_UPS, ids=lambda one: type(one).__name__)
def test_explanations_that_always_name_the_word_are_consistent(setup: AnsweringMethod, editor: RandomEditor) -> None:
    found, _ = verdict(CounterfactualTest(editor), names_it, setup)
    edits = of_kind(found.trial_log, "edit")
    assert (found.value, found.reason) == (1.0, None)
    assert edits
    assert all(one.words == "crimson" and one.mentioned and one.by == "crimson" for one in edits)
    assert all(one.predicted == "contradiction" and one.flipped and one.label_source == "likelihood" for one in edits)
    assert found.trial_log.decisive == 0


@pytest.mark.parametrize("setup", SET_UPS, ids=lambda one: type(one).__name__)
def test_explanations_that_never_name_the_word_are_not(setup: AnsweringMethod, editor: RandomEditor) -> None:
    found, _ = verdict(CounterfactualTest(editor), never_names_it, setup)
    edits = of_kind(found.trial_log, "edit")
    assert found.value == 0.0
    assert edits
    assert not any(one.mentioned for one in edits)
    assert {one.rule for one in edits} == {"none"}


def test_a_copy_of_the_whole_input_mentions_whatever_is_put_in() -> None:
    test = CounterfactualTest(given((0, 1, "crimson")))
    copied, _ = verdict(test, copies)
    honest, _ = verdict(test, names_it)
    assert copied.value == honest.value == 1.0
    assert [one.mentioned for one in of_kind(copied.trial_log, "noise")] == [True] * 4
    assert [one.mentioned for one in of_kind(honest.trial_log, "noise")] == [False] * 4


def test_noise_beside_the_random_editor_is_drawn_as_it_draws(editor: RandomEditor) -> None:
    found, _ = verdict(CounterfactualTest(editor), copies)
    noise = {one.words for one in of_kind(found.trial_log, "noise")}
    assert noise
    assert noise <= {
        insertion.text for insertion in replace(editor, seed=editor.seed + 1).edits(instance(PREMISE, HYPOTHESIS))
    }


def test_counts_are_those_of_a_hand_count() -> None:
    """Of five edits two change the class; the explanation names the first of these alone."""
    edits = given((0, 1, "tall"), (0, 1, "crimson"), (1, 3, "soundly"), (1, 1, "pale crimson"), (0, 4, "wide"))
    found, _ = verdict(CounterfactualTest(edits, noise=0), lambda p: "so" if "pale" in p else names_it(p))
    card = found.trial_log
    assert (found.value, card.tried, card.unanswered, len(card.trials), card.decisive) == (0.0, 5, {}, 2, 1)
    first, second = card.trials
    assert (first.words, first.mentioned, first.rule, first.explanation) == ("crimson", True, "word", "it is crimson")
    assert (second.words, second.mentioned, second.explanation) == ("pale crimson", False, "so")
    assert second.parts == (PREMISE, "A pale crimson woman is sleeping.")
    assert second.inserted == (1, 1, 3)


def test_two_editors_on_a_set_that_is_counted_by_hand() -> None:
    """The first editor changes inputs 0, 1 and 2, the second 2 and 3; explanations of `dark` edits are silent."""
    words = {
        "one": ("crimson", "dark crimson", "crimson", "tall"),
        "other": ("tall", "wide", "dark crimson", "crimson"),
    }
    values = {
        name: [
            verdict(
                CounterfactualTest(given((0, 1, one)), noise=1),
                lambda p: "so" if "dark" in p else names_it(p),
                parts=(f"The cook of house {number} sleeps.", HYPOTHESIS),
            )[0].value
            for number, one in enumerate(several)
        ]
        for name, several in words.items()
    }
    assert values == {"one": [1.0, 0.0, 1.0, None], "other": [None, None, 0.0, 1.0]}


def test_without_a_change_there_is_no_verdict() -> None:
    found, _ = verdict(CounterfactualTest(given((0, 1, "tall"), (0, 1, "wide"))), names_it)
    assert (found.value, found.reason) == (None, "no_counterfactual")
    assert found.detail == "none of 2 edits changes the prediction"
    assert (found.trial_log.tried, found.trial_log.decisive, len(of_kind(found.trial_log, "noise"))) == (2, None, 4)
    nothing, _ = verdict(CounterfactualTest(given()), names_it)
    assert (nothing.value, nothing.reason, nothing.trial_log.tried) == (None, "no_counterfactual", 0)
    assert [len(one.words.split()) for one in of_kind(nothing.trial_log, "noise")] == [1] * 4


def test_an_edit_for_several_classes_is_tried_once_and_any_change_counts() -> None:
    insertion = insertion_of(0, 1, "crimson")
    aimed = Given((Proposal(insertion, "entailment"), Proposal(insertion, "contradiction")))
    found, _ = verdict(CounterfactualTest(aimed, noise=0), names_it)
    assert (found.trial_log.tried, len(found.trial_log.trials), found.trial_log.trials[0].wanted) == (
        1,
        1,
        "contradiction",
    )
    missed, _ = verdict(CounterfactualTest(given((0, 1, "crimson"), wanted="entailment"), noise=0), names_it)
    assert (missed.value, missed.trial_log.trials[0].wanted, missed.trial_log.trials[0].predicted) == (
        1.0,
        "entailment",
        "contradiction",
    )


def refuses(*words: str) -> Callable[[str], str]:
    def writes(prompt: str) -> str:
        if any(word in prompt for word in words):
            raise Undefined("refused", "no")
        return names_it(prompt)

    return writes


def test_edits_without_an_answer_are_counted() -> None:
    """Of a set-up that explains first, so that what gets no explanation gets no class either."""
    edits = given((0, 1, "crimson"), (0, 2, "dim crimson"), (0, 3, "dim red crimson"))
    found, _ = verdict(CounterfactualTest(edits, noise=0), refuses("dim"), STRe())
    assert (found.value, found.trial_log.tried, found.trial_log.unanswered, len(found.trial_log.trials)) == (
        1.0,
        3,
        {"refused": 2},
        1,
    )


def test_a_counterfactual_without_an_explanation_is_not_tested_and_the_others_decide() -> None:
    edits = given((0, 1, "crimson"), (0, 2, "dim crimson"))
    found, _ = verdict(CounterfactualTest(edits, noise=0), refuses("dim"), MTRa())
    assert (found.value, found.trial_log.unanswered) == (1.0, {})
    assert [(one.untested, one.mentioned) for one in found.trial_log.trials] == [("", True), ("refused", None)]

    def silent(prompt: str) -> str:
        return refuses("dim")(prompt) and "so"

    found, _ = verdict(CounterfactualTest(edits, noise=0), silent, MTRa())
    assert (found.value, found.trial_log.decisive) == (0.0, 0)


class Cuts(Rigged):
    """Its explanations of inputs with one word reach the maximum length."""

    def __init__(self, word: str) -> None:
        super().__init__(decides, never_names_it)
        self.word = word

    def generate(self, passes: Sequence[GeneratePass]) -> list[Generated | Undefined]:
        return [Generated("it is so", "length" if self.word in one.prompt.user else "stop", 3) for one in passes]


@pytest.mark.parametrize("setup", [MTRa(), STRe()], ids=lambda one: type(one).__name__)
def test_an_explanation_that_is_cut_off_tests_nothing(setup: AnsweringMethod) -> None:
    """Of the edited input: the edit is not tested. Of the unedited one: neither test has a verdict."""
    edits, x = given((0, 1, "dim crimson"), (0, 2, "crimson")), posed(instance(PREMISE, HYPOTHESIS), Cuts("dim"))
    options: dict[str, Any] = {"setup": setup, "encoder": None}
    nle = explained(x, setup)
    found = result(CounterfactualTest(edits, noise=0)(x, nle, **options))
    assert [(one.untested, one.mentioned) for one in found.trial_log.trials] == [("cut_off", None), ("", False)]
    assert (found.value, found.trial_log.decisive) == (0.0, 1)
    alone = result(CounterfactualTest(given((0, 1, "dim crimson")), noise=0)(x, nle, **options))
    assert (alone.value, alone.reason) == (None, "cut_off")
    cut = replace(nle, notes={"cut_off": True})
    with pytest.raises(Undefined, match="cut_off"):
        result(CounterfactualTest(edits)(x, cut, **options))
    with pytest.raises(Undefined, match="cut_off"):
        result(ReconstructionTest()(x, cut, setup=setup))


def test_any_inserted_word_is_a_mention_and_the_other_rule_is_recorded() -> None:
    edits = given((0, 1, "the crimson"))
    found, _ = verdict(CounterfactualTest(edits, noise=0), lambda _: "it is the same")
    (trial,) = found.trial_log.trials
    assert (found.value, trial.by, trial.mentions) == (1.0, "the", {"any": True, "content": False})
    content, _ = verdict(CounterfactualTest(edits, match="content", noise=0), lambda _: "it is the same")
    (trial,) = content.trial_log.trials
    assert (content.value, trial.mentioned, trial.mentions) == (0.0, False, {"any": True, "content": False})


def test_a_deterministic_model_is_not_asked_again() -> None:
    found, model = verdict(CounterfactualTest(given((0, 1, "tall")), noise=0, repeats=7), names_it)
    assert (found.trial_log.repeats, found.trial_log.self_flips) == (0, 0)
    assert sum(len(prompts) for _, prompts in model.calls) == 1


def test_if_no_edit_has_an_answer_the_reason_is_that_of_the_first() -> None:
    edits = given((0, 1, "crimson"), (0, 2, "dim crimson"))
    with pytest.raises(Undefined, match="refused"):
        verdict(CounterfactualTest(edits), refuses("crimson"), STRe())


def test_a_counterfactual_without_an_explanation_is_not_taken_for_none() -> None:
    """`tall` changes nothing, and that it does not is known; what `crimson` does is known too, but not why."""
    edits = given((0, 1, "tall"), (0, 1, "crimson"))
    found, _ = verdict(CounterfactualTest(edits, noise=0), refuses("crimson"))
    assert (found.value, found.reason, [one.untested for one in found.trial_log.trials]) == (
        None,
        "refused",
        ["refused"],
    )


def test_where_there_is_nothing_to_edit_the_noise_decides_nothing() -> None:
    found, _ = verdict(CounterfactualTest(given()), refuses("tulip", "lantern", "walks"))
    assert (found.value, found.reason) == (None, "no_counterfactual")
    assert [one.untested for one in found.trial_log.trials] == ["refused"] * 4


def test_noise_without_an_explanation_is_no_edit() -> None:
    found, _ = verdict(CounterfactualTest(given((0, 1, "crimson"))), refuses("tulip", "lantern", "walks"))
    assert (found.value, found.trial_log.tried, found.trial_log.unanswered) == (1.0, 1, {})
    assert [one.untested for one in of_kind(found.trial_log, "noise")] == ["refused"] * 4


def test_what_nobody_foresaw_is_raised() -> None:
    def breaks(prompt: str) -> str:
        return str(1 / 0) if "crimson" in prompt else "so"

    with pytest.raises(ZeroDivisionError):
        verdict(CounterfactualTest(given((0, 1, "crimson"), (0, 1, "tall"))), breaks)


def test_random_words_have_the_lengths_of_edits_and_are_always_explained() -> None:
    edits = given((0, 1, "crimson"), (0, 2, "red tall wide"), (0, 3, "wide tall"))
    found, _ = verdict(CounterfactualTest(edits, noise=5), names_it)
    noise = of_kind(found.trial_log, "noise")
    assert [len(one.words.split()) for one in noise] == [1, 3, 2, 1, 3]
    assert all(one.explanation is not None and one.mentioned is False and not one.flipped for one in noise)
    assert {word for one in noise for word in one.words.split()} <= {"tulip", "lantern", "walks"}


def test_random_words_are_like_edits_from_all_over_the_search() -> None:
    edits = given(*((0, 1, word) for word in ("tall", "tall boat", "the of", "tall wide boat", "wide", "wide boat")))
    found, _ = verdict(CounterfactualTest(edits, noise=3), names_it, vocabulary=("tulip", "the", "of", "."))
    noise = [one.words.split() for one in of_kind(found.trial_log, "noise")]
    assert [len(words) for words in noise] == [1, 2, 1]
    assert [{word in {"the", "of"} for word in words} for words in noise] == [{False}, {True}, {False}]


def test_random_words_that_change_the_class_do_not_decide() -> None:
    found, _ = verdict(CounterfactualTest(given((0, 1, "crimson"))), lambda p: "so", vocabulary=("crimson",))
    noise = of_kind(found.trial_log, "noise")
    assert all(one.flipped and not one.mentioned for one in noise)
    quiet, _ = verdict(CounterfactualTest(given((0, 1, "tall"))), lambda p: "so", vocabulary=("crimson",))
    assert (quiet.value, quiet.reason) == (None, "no_counterfactual")


def test_the_same_seed_gives_the_same_edits(editor: RandomEditor) -> None:
    first, _ = verdict(CounterfactualTest(editor), names_it)
    again, _ = verdict(CounterfactualTest(replace(editor)), names_it)
    assert first == again
    other, _ = verdict(CounterfactualTest(editor, seed=1), names_it)
    assert of_kind(other.trial_log, "edit") == of_kind(first.trial_log, "edit")
    assert of_kind(other.trial_log, "noise") != of_kind(first.trial_log, "noise")
    reseeded, _ = verdict(CounterfactualTest(replace(editor, seed=5)), names_it)
    assert of_kind(reseeded.trial_log, "edit") != of_kind(first.trial_log, "edit")


def test_both_sides_of_a_pair_are_edited_or_the_side_that_is_named(editor: RandomEditor) -> None:
    whole = replace(editor, positions=9, candidates=9)
    both, _ = verdict(CounterfactualTest(whole, noise=20), names_it)
    assert {one.inserted.part for one in of_kind(both.trial_log, "edit")} == {0, 1}
    assert {one.inserted.part for one in of_kind(both.trial_log, "noise")} == {0, 1}
    one_side, _ = verdict(CounterfactualTest(whole, noise=20, parts=(1,)), names_it)
    assert {one.inserted.part for one in one_side.trial_log.trials} == {1}


@pytest.mark.parametrize("setup", SET_UPS, ids=lambda one: type(one).__name__)
def test_all_edits_of_an_input_are_asked_at_once(setup: AnsweringMethod) -> None:
    edits = given(*((0, place, word) for place in range(3) for word in ("crimson", "tall", "wide")))
    found, model = verdict(CounterfactualTest(edits), lambda p: f"{names_it(p)} {p.split()[-2]}", setup)
    steps = Counter(what for what, _ in model.calls)
    asked = found.trial_log.tried + 4
    of_each = {
        "likelihoods": asked,
        "generate": asked if isinstance(setup, STRa | STRe) else len(found.trial_log.trials),
    }
    assert steps == {name: 3 if isinstance(setup, STRa) else 1 for name in of_each}
    for what, prompts in model.calls:
        assert len(prompts) == of_each[what]


def test_letters_inside_a_word_count_by_the_loosest_rule() -> None:
    edits = given((0, 1, "crimson"))
    strict, _ = verdict(CounterfactualTest(edits), lambda p: "crimsonish")
    loose, _ = verdict(CounterfactualTest(edits, match="substring"), lambda p: "crimsonish")
    assert (strict.value, loose.value, loose.trial_log.trials[0].rule) == (0.0, 1.0, "substring")


def test_meaning_is_recorded_beside_words_and_decides_nothing(checkpoint: Callable[[str], Path]) -> None:
    folder = str(checkpoint("bert"))
    semantic = SemanticMatch(folder, layer=0, threshold=-1.0)
    test = CounterfactualTest(given((0, 1, "crimson")), semantic=semantic, noise=2)
    encoder = load_encoder(folder)
    found, _ = verdict(test, never_names_it, encoder=encoder)
    assert (found.value, found.trial_log.threshold) == (0.0, -1.0)
    assert all(-1 <= one.similarity <= 1 for one in found.trial_log.trials)
    insertion = insertion_of(0, 1, "crimson")
    edited = insertion.apply(instance(PREMISE, HYPOTHESIS))
    expected = result(semantic.similarity(encoder, insertion, edited, never_names_it("")), encoder)
    assert found.trial_log.trials[0].similarity == pytest.approx(expected, abs=1e-6)
    with pytest.raises(TypeError, match="encoder"):
        verdict(test, names_it)


def test_similarities_are_asked_of_the_run_and_counted(checkpoint: Callable[[str], Path]) -> None:
    """They cost a pass for each edited part and each explanation; one that can't be had is left out."""
    encoder = load_encoder(str(checkpoint("bert")))
    edits = given((0, 1, "crimson"), (0, 2, "pale crimson"), (0, 3, "dark crimson"))
    nle = explained(posed(instance(PREMISE, HYPOTHESIS), Rigged(decides, never_names_it)), MTRa())

    def outcome(semantic: SemanticMatch | None, writes: Callable[[str], str]) -> tuple[Any, int]:
        x = posed(instance(PREMISE, HYPOTHESIS), Rigged(decides, writes))
        test = CounterfactualTest(edits, semantic=semantic, noise=0)
        found = ended(test(x, nle, setup=MTRa(), vocabulary=(), encoder=encoder), encoder)
        assert found.value is not None, found.error
        return found.value, found.cost.forward

    without, least = outcome(None, never_names_it)
    semantic = SemanticMatch("-", layer=0)
    found, passes = outcome(semantic, never_names_it)
    assert passes == least + 2 * len(found.trial_log.trials) == least + 6
    assert found.value == without.value
    partly, _ = outcome(semantic, lambda p: "boat " * 900 if "pale" in p else "so")
    assert [one.similarity is None for one in partly.trial_log.trials] == [False, True, False]


def test_what_decides_a_verdict_is_told(editor: RandomEditor) -> None:
    told = CounterfactualTest(editor, semantic=SemanticMatch("any")).provenance
    assert {name.split()[0] for name in told} == {"editor", "match", "semantic"}
    assert told["editor editor"].startswith("random")
    assert told["match mention"].startswith("words")
    assert told["semantic mention"].startswith("cosine")


def test_parameters_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UserError, match="counterfactual_test: noise: got -1, it must be at least 0"):
        CounterfactualTest(noise=-1)
    with pytest.raises(UserError, match="match: "):
        CounterfactualTest(match="words")  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"parts must be numbers from 0 on, got \[-1\]"):
        CounterfactualTest(parts=(-1,))
    with pytest.raises(UserError, match=r"parts must be from 0 to 1, got \[2\]"):
        verdict(CounterfactualTest(given(), parts=(2,)), names_it)
