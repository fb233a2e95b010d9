"""Templates: what an explanation was made of is what it is taken apart into, for each and every template."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from support.filled_templates import DOINGS, SUBJECTS, Chosen, expected, filled, gap_forms, written
from verax.metrics.free_text.nli import read_nli
from verax.metrics.free_text.nli_templates import NLI_TEMPLATES
from verax.metrics.free_text.templates import NormalisedSentence, Phrasing, Template

CHOSEN = st.builds(Chosen, st.sampled_from(sorted(SUBJECTS)), st.sampled_from(DOINGS))


STATING = [one for one in NLI_TEMPLATES if not one.nouns and not one.hypothesis.startswith("X be")]
"""Templates whose gaps are statements or predicates; the others are about things."""


@pytest.mark.parametrize("template", STATING, ids=lambda template: template.phrase)
@settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
def test_what_an_explanation_was_made_of_is_read_from_it(template: Template, data: st.DataObject) -> None:
    """No phrasing is taken by an earlier template, so none is shadowed either."""
    chosen = {gap: data.draw(CHOSEN) for gap in gap_forms(template)}
    phrasing = data.draw(st.sampled_from(template.phrasings))
    explanation = written(phrasing, filled(template, chosen))
    if data.draw(st.booleans()):
        explanation = f"{explanation[0].upper()}{explanation[1:]} ."
    halves = [expected(template, half, chosen) for half in (template.premise, template.hypothesis)]
    assume(halves[0] != halves[1])
    reading = read_nli(explanation)
    assert (reading.template, reading.label) == (template.phrase, template.label)
    assert reading.premise.lower() == expected(template, template.premise, chosen)
    assert reading.hypothesis.lower() == expected(template, template.hypothesis, chosen)


def test_every_label_has_its_templates_and_no_two_are_alike() -> None:
    labels = Counter(template.label for template in NLI_TEMPLATES)
    assert set(labels) == {"entailment", "neutral", "contradiction"}
    assert min(labels.values()) >= 15
    said = Counter(phrasing.literals + phrasing.gaps for template in NLI_TEMPLATES for phrasing in template.phrasings)
    # one pair says the same and differs in what may fill it: `sitting`, or `he is sitting`
    assert [" ".join(key) for key, count in said.items() if count > 1] == ["   can not be   while    X Y Z"]


def test_some_templates_speak_of_the_hypothesis_first() -> None:
    first = {template.phrasings[0].gaps[0] for template in NLI_TEMPLATES if template.hypothesis == "Y"}
    assert first == {"X", "Y"}


@pytest.mark.parametrize(
    ("phrase", "ways"),
    [
        ("X is Y", {"X is Y"}),
        ("X (is|are) [not] Y", {"X is not Y", "X are not Y", "X is Y", "X are Y"}),
        ("X so [it (may|must) be] Y [too]", {f"X so{be} Y{too}" for be in ("", " it may be", " it must be")
                                             for too in ("", " too")}),
        ("X [,] so Y", {"X, so Y", "X so Y"}),
    ],
)  # fmt: skip
def test_a_phrase_has_all_its_ways(phrase: str, ways: set[str]) -> None:
    phrasings = Template(phrase, "neutral").phrasings
    said = [written(phrasing, {"X": "X", "Y": "Y"}) for phrasing in phrasings]
    assert sorted(said) == sorted(ways)
    lengths = [len(phrasing.words) for phrasing in phrasings]
    assert lengths == sorted(lengths, reverse=True)


def test_gaps_that_nothing_parts_are_refused() -> None:
    with pytest.raises(ValueError, match="are adjacent: 'if X Y'"):
        _ = Template("if X [then] Y", "neutral").phrasings


@pytest.mark.parametrize("phrase", ["X (is|are Y", "X is) Y", "X [is Y"])
def test_a_bracket_without_its_partner_is_refused(phrase: str) -> None:
    with pytest.raises(ValueError, match="a bracket is not closed, or not opened"):
        _ = Template(phrase, "neutral").phrasings


@pytest.mark.parametrize(
    ("signs", "said", "gaps"),
    [
        ("X means Y", "a means b means c", ("a", "b means c")),  # the first gap is as short as can be
        ("X means Y", "means b", None),
        ("X means Y", "a means", None),
        ("X means Y", "means means means", ("means", "means")),
        ("X means Y", "a meanss b", None),
        ("if X then Y", "if a then b", ("a", "b")),
        ("if X then Y", "as if a then b", None),
        ("X and Y differ", "a and b differ", ("a", "b")),
        ("X and Y differ", "a and b differ much", None),
        ("X and Y differ", "a and differ", None),
        ("X means Y", "A Means B", ("A", "B")),
        ("X means Y", "İ means B", ("i̇", "b")),  # longer in lower case
    ],
)
def test_a_phrasing_is_filled_from_the_left(signs: str, said: str, gaps: tuple[str, str] | None) -> None:
    found = Phrasing.of(signs.split()).fill(NormalisedSentence.of(said))
    assert found == (None if gaps is None else dict(zip("XY", gaps, strict=True)))


def test_what_is_said_of_somebody_is_no_statement() -> None:
    template = Template("X is either Y or Z", "contradiction", "X be Y", "X be Z")
    assert template.predicates == {"Y", "Z"}
    assert template.match(NormalisedSentence.of("a nurse is either asleep or awake")) == {
        "X": "a nurse",
        "Y": "asleep",
        "Z": "awake",
    }
    for other in ("she sleeps", "her son is awake"):
        assert template.match(NormalisedSentence.of(f"a nurse is either asleep or {other}")) is None
