"""The trained editor: what it is asked, which of its answers are edits, and that a seed means the same always."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from support.rigged import NLI, Rigged, explained, instance, posed, result
from support.tiny_text import save_generator
from verax.methods.answering import MTRa
from verax.metrics.free_text import infill_editor
from verax.metrics.free_text.counterfactual_test import CounterfactualTest
from verax.metrics.free_text.editing import DrawingEditor, Editor, Proposals, SelectiveEditor
from verax.metrics.free_text.infill_editor import InfillEditor
from verax.metrics.free_text.random_editor import RandomEditor
from verax.models.editor_wording import EditorFacts
from verax.types import Undefined, UserError

PARTS = ("A cook in a tall hat stirs the soup.", "It is raining outside today")
WANTED = ("entailment", "contradiction")
FACTS = EditorFacts("edit label: {label} premise: {1} hypothesis: {2} words:", "___", NLI)


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], Sequence[str]]], Rigged]:
    """Puts a rigged model in the place of the one that is loaded."""

    def put(offers: Callable[[str], Sequence[str]]) -> Rigged:
        model = Rigged(offers=offers)
        monkeypatch.setattr(infill_editor, "_load", lambda path, x: (FACTS, model))
        return model

    return put


def proposed(editor: InfillEditor, parts: tuple[int, ...] | None = None, texts: Sequence[str] = PARTS) -> Proposals:
    found: Proposals = result(editor.propose(posed(instance(*texts), Rigged()), WANTED, parts))
    return found


def test_sixteen_edits_are_spread_evenly_over_both_parts_and_each_other_class(rig: Any) -> None:
    model = rig(lambda prompt: [f"{word}{len(prompt)}" for word in ("red", "so", "not", "all")])
    found = proposed(InfillEditor("any"))
    assert len({one.insertion for one in found}) == 16
    at = Counter((one.wanted, one.insertion.part, one.insertion.position) for one in found)
    assert set(at.values()) == {4}
    assert Counter((wanted, part) for wanted, part, _ in at) == {(w, p): 1 for w in WANTED for p in (0, 1)}
    [(what, prompts)] = model.calls
    assert (what, len(prompts)) == ("candidates", 4)
    assert InfillEditor("any").max_inputs(2, 3) == InfillEditor("any").max_inputs(6, 5) == 16


def test_further_positions_make_up_for_texts_that_do_not_fit(rig: Any) -> None:
    """Half of the candidates are no words: twice the positions are needed for sixteen edits."""
    model = rig(lambda prompt: ("red", "...", "so", ""))
    found = proposed(InfillEditor("any"))
    assert len({one.insertion for one in found}) == 16
    assert sum(len(prompts) for _, prompts in model.calls) >= 8
    rig(lambda _: ("...",))
    assert proposed(InfillEditor("any")) == ()


def test_the_prompt_has_the_mark_where_the_words_go(rig: Any) -> None:
    model = rig(lambda prompt: (prompt.partition("label: ")[2].split()[0],))
    for insertion, wanted in proposed(InfillEditor("any", positions=99)):
        assert insertion.words == (wanted,)
        marked = [*PARTS]
        marked[insertion.part] = insertion.apply(instance(*PARTS)).parts[insertion.part].raw.replace(wanted, "___")
        prompt = f"edit label: {wanted} premise: {marked[0]} hypothesis: {marked[1]} words:"
        assert _letters(prompt) in map(_letters, model.calls[0][1])
    # of the first part before each of nine words and the full stop; of the second before five words and at the end
    assert len(model.calls[0][1]) == len(WANTED) * (10 + 6)


def _letters(text: str) -> str:
    """A text without its spaces."""
    return "".join(text.split())


def test_what_can_not_be_put_in_is_left_out(rig: Any) -> None:
    rig(lambda _: ("red", " red ", "", "...", "one two three four", "one two three", "3", "a ,"))
    found = proposed(InfillEditor("any", positions=1), parts=(1,))
    assert [one.insertion.text for one in found] == ["red", "one two three", "3", "a ,"]


def test_words_that_stand_beside_the_place_already_are_left_out(rig: Any) -> None:
    rig(lambda _: ("Raining", "outside today", "is", "outside is"))
    found = {one.insertion for one in proposed(InfillEditor("any", positions=99), parts=(1,))}
    assert {one.position for one in found} == set(range(6))  # it is raining outside today
    left_out = {(position, text) for position in range(6) for text in ("Raining", "outside today", "is", "outside is")}
    left_out -= {(one.position, one.text) for one in found}
    assert left_out == {
        (2, "Raining"),
        (3, "Raining"),
        (3, "outside today"),
        (5, "outside today"),
        (1, "is"),
        (2, "is"),
    }


def test_only_parts_that_may_be_edited_are(rig: Any) -> None:
    rig(lambda _: ("red",))
    assert {one.insertion.part for one in proposed(InfillEditor("any"), parts=(1,))} == {1}
    assert {one.insertion.part for one in proposed(InfillEditor("any"), texts=("", "It rains"))} == {1}


def test_seed_and_text_decide_the_positions(rig: Any) -> None:
    rig(lambda _: ("red",))
    first = proposed(InfillEditor("any"))
    assert proposed(InfillEditor("any")) == first
    assert proposed(InfillEditor("any", seed=1)) != first
    here, there = ([one.insertion for one in first if one.wanted == label] for label in WANTED)
    assert here != there


def test_a_position_without_an_answer_costs_no_other(rig: Any) -> None:
    def offers(prompt: str) -> Sequence[str]:
        if "entailment" in prompt:
            raise Undefined("too_long", "9 tokens")
        return ("red",)

    rig(offers)
    assert {one.wanted for one in proposed(InfillEditor("any"))} == {"contradiction"}

    def never(prompt: str) -> Sequence[str]:
        raise Undefined("too_long", "9 tokens")

    rig(never)
    with pytest.raises(Undefined, match="too_long"):
        proposed(InfillEditor("any"))
    rig(lambda prompt: [str(1 / 0)] if "entailment" in prompt else ("red",))
    with pytest.raises(ZeroDivisionError):
        proposed(InfillEditor("any"))


def test_a_class_that_the_editor_does_not_know_is_named(rig: Any) -> None:
    rig(lambda _: ("red",))
    with pytest.raises(UserError, match=r"editor: 'any' knows entailment, neutral, contradiction; .* to 'maybe'"):
        result(InfillEditor("any").propose(posed(instance(*PARTS), Rigged()), ("maybe",)))


@pytest.mark.parametrize("parts", [1, 3])
def test_inputs_of_another_number_of_parts_are_refused(parts: int, rig: Any) -> None:
    rig(lambda _: ("red",))
    x = posed(instance(*["a boat"] * parts), Rigged(), labels=WANTED)
    with pytest.raises(UserError, match=rf"editor: 'any' was trained on inputs of 2 part\(s\), and these have {parts}"):
        result(InfillEditor("any").propose(x, WANTED))


def test_what_does_not_fit_is_told_without_a_question(tmp_path: Path) -> None:
    """Nothing is loaded: the folder holds no weights."""
    editor = InfillEditor(str(tmp_path))
    assert isinstance(editor, SelectiveEditor)
    assert not isinstance(RandomEditor(), SelectiveEditor)
    assert not isinstance(InfillEditor("any"), DrawingEditor)
    with pytest.raises(UserError, match=r"holds no editor\.json; make one with: verax train editor"):
        editor.check(NLI, 2)
    with pytest.raises(UserError, match=r"holds no editor\.json; make one with: verax train editor"):
        editor.provenance  # noqa: B018
    facts = {"prompt": FACTS.prompt, "mark": FACTS.mark, "labels": list(FACTS.labels)}
    (tmp_path / "editor.json").write_text(json.dumps(facts))
    editor.check(NLI, 2)
    with pytest.raises(UserError, match="it can't lead to 'maybe'"):
        editor.check((*NLI, "maybe"), 2)
    with pytest.raises(UserError, match="and these have 1"):
        editor.check(NLI, 1)


def test_an_editor_that_is_trained_anew_is_loaded_anew(tmp_path: Path) -> None:
    folder = save_generator("gpt2", tmp_path / "editor")
    facts = {"prompt": FACTS.prompt, "mark": FACTS.mark, "labels": list(FACTS.labels)}
    (folder / "editor.json").write_text(json.dumps(facts))
    editor = InfillEditor(str(folder))
    told, x = editor.provenance, posed(instance(*PARTS), Rigged())
    infill_editor._load(str(folder), x)
    weights = folder / "model.safetensors"
    tensors = load_file(weights)
    save_file({name: tensor + 1 for name, tensor in tensors.items()}, weights, {"format": "pt"})
    assert editor.provenance["weights"] != told["weights"]
    _, again = infill_editor._load(str(folder), x)
    assert again.fingerprint["weights"] == editor.provenance["weights"]
    (folder / "editor.json").write_text(json.dumps({**facts, "mark": "..."}))
    assert infill_editor._load(str(folder), x)[0].mark == "..."


def test_the_counterfactual_test_searches_with_it(rig: Any) -> None:
    rig(lambda prompt: ("crimson", "tall") if "contradiction" in prompt else ("tall", "wide"))
    model = Rigged(lambda p: "contradiction" if "crimson" in p else "neutral", lambda _: "it is so")
    x = posed(instance(*PARTS), model)
    test = CounterfactualTest(InfillEditor("any"), noise=0)
    found = result(test(x, explained(x, MTRa()), setup=MTRa(), vocabulary=(), encoder=None))
    assert found.value == 0.0
    assert {(one.words, one.wanted) for one in found.trial_log.trials} == {("crimson", "contradiction")}
    assert (found.trial_log.tried, len(found.trial_log.trials)) == (16, 5)


@pytest.mark.parametrize("architecture", ["gpt2", "t5"])
def test_an_editor_from_a_folder(architecture: str, tmp_path: Path) -> None:
    folder = save_generator(architecture, tmp_path / "editor")
    facts = {"prompt": FACTS.prompt, "mark": FACTS.mark, "labels": list(FACTS.labels)}
    (folder / "editor.json").write_text(json.dumps(facts))
    editor = InfillEditor(str(folder), positions=2, candidates=2)
    assert isinstance(editor, Editor)
    told = editor.provenance
    assert set(told) == {"editor", "weights", "tokenizer", "facts"}
    found = proposed(editor, texts=("A cook", "It rains"))
    assert found == proposed(editor, texts=("A cook", "It rains"))
    assert {one.wanted for one in found} <= set(WANTED)
    assert all(1 <= len(one.insertion.words) <= 3 for one in found)
    (folder / "editor.json").write_text(json.dumps({**facts, "mark": "..."}))
    assert editor.provenance != told


@pytest.mark.parametrize("name", ["positions", "candidates", "seed"])
def test_a_number_that_makes_no_sense_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"editor: {name}: got -1, it must be at least [01]"):
        InfillEditor("any", **{name: -1})
