"""New inputs from explanations: inference by templates, commonsense validation by replacement."""

from __future__ import annotations

import pytest

from support.rigged import Rigged
from support.rigged import posed as posed_to
from verax.data.text import split_words
from verax.metrics.free_text.reconstruction import ComveByReplacement, NliByTemplates, Reconstruction
from verax.models.subject import Subject
from verax.types import Human, Instance, Undefined, UserError

EXPLANATION = "just because a cook wears a hat does not mean it is raining"


def pair(one: str, other: str) -> Subject:
    parts = split_words(one), split_words(other)
    return posed_to(Instance("i", parts, "neutral", parallel_id="t", human=Human(explanations=("so",))), Rigged())


@pytest.mark.parametrize("made", [NliByTemplates(), ComveByReplacement()])
def test_each_way_is_a_reconstruction(made: object) -> None:
    assert isinstance(made, Reconstruction)
    assert made.provenance["reconstruction"]


@pytest.mark.parametrize(
    ("parts", "raw"),
    [
        (("A man sits.", "It is wet."), ("A cook wears a hat.", "It is raining.")),
        (("A man sits .", "it is wet"), ("A cook wears a hat .", "it is raining")),
        (("a man sits", "It is wet"), ("a cook wears a hat", "It is raining")),
    ],
)
def test_the_halves_look_like_the_parts_they_stand_in_for(parts: tuple[str, str], raw: tuple[str, str]) -> None:
    made = NliByTemplates().reconstruct(pair(*parts), EXPLANATION, "entailment")
    assert tuple(part.raw for part in made.instance.parts) == raw
    assert made.instance.parts == tuple(map(split_words, raw))
    assert made.notes["speaks_for"] == "neutral"
    assert made.notes["template"].startswith("just because X")


def test_nothing_is_claimed_of_the_new_input() -> None:
    made = NliByTemplates().reconstruct(pair("a", "b"), EXPLANATION, "neutral").instance
    assert (made.label, made.parallel_id, made.human) == (None, None, None)
    assert made.id == "i+reconstructed"


def test_an_explanation_without_two_statements_makes_no_input() -> None:
    with pytest.raises(Undefined, match="no_template"):
        NliByTemplates().reconstruct(pair("a", "b"), "the cook sleeps", "neutral")


@pytest.mark.parametrize(
    ("predicted", "parts", "replaced"),
    [
        ("first", ("Cats read books.", "Cats can not read"), "second"),
        ("second", ("Cats can not read", "Cats chase mice."), "first"),
    ],
)
def test_the_sentence_that_was_found_right_is_replaced(predicted: str, parts: tuple[str, str], replaced: str) -> None:
    given = pair("Cats read books.", "Cats chase mice.")
    made = ComveByReplacement().reconstruct(given, " Cats can not read\n", predicted)
    assert tuple(part.raw for part in made.instance.parts) == parts
    assert made.notes == {"replaced": replaced}
    assert made.instance.label is None


def test_classes_may_have_other_names() -> None:
    made = ComveByReplacement(("0", "1")).reconstruct(pair("a", "b"), "c", "1")
    assert [part.raw for part in made.instance.parts] == ["c", "b"]


def test_what_has_no_reason_or_is_no_pair_makes_no_input() -> None:
    with pytest.raises(Undefined, match="empty"):
        ComveByReplacement().reconstruct(pair("a", "b"), " \n", "first")
    for made in (NliByTemplates(), ComveByReplacement()):
        with pytest.raises(Undefined, match="not_a_pair: 1 parts"):
            made.reconstruct(posed_to(Instance("i", (split_words("a"),)), Rigged()), EXPLANATION, "first")


def test_classes_that_are_not_those_of_the_task_are_refused() -> None:
    with pytest.raises(
        UserError, match=r"comve: labels must hold the predicted class 'third', got \['first', 'second'\]"
    ):
        ComveByReplacement().reconstruct(pair("a", "b"), "c", "third")
    with pytest.raises(UserError, match="two different classes"):
        ComveByReplacement(("a", "a"))
