"""Cross-lingual faithfulness of one explanation: Equation 3 by hand, Spearman as scipy has it, what has no value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from verax.data.text import from_words
from verax.metrics.crosslingual_faithfulness import (
    AlignedReference,
    CrosslingualFaithfulness,
    aligned_scores,
    scores_of_words,
    spearman,
)
from verax.models.classifier import Classifier
from verax.models.subject import Subject
from verax.models.words import word_form
from verax.types import Highlight, Instance, Links, Measured, Span, Target, Undefined, UserError

ENGLISH = Instance("1/en", (from_words(["we", "meet", "at", "8pm"]), from_words(["never"])), parallel_id="1")
GERMAN = Instance(
    "1/de", (from_words(["wir", "treffen", "uns", "um", "20", "Uhr"]), from_words(["nie"])), lang="de", parallel_id="1"
)
LINKS: Links = ((0, 0), (1, 1), (1, 2), (2, 3), (3, 4), (3, 5), (4, 6))


def _explained(instance: Instance, scores: list[float], skip: tuple[int, ...] = ()) -> Highlight:
    units = [unit for number, unit in enumerate(instance.units) if number not in skip]
    return Highlight(instance.id, "m", "token", Target(), tuple(units), tuple(scores))


def _measured(german: Highlight, english: Highlight, links: Links = LINKS) -> float:
    return _compared(german, english, links).value


def _compared(german: Highlight, english: Highlight, links: Links) -> Measured:
    aligned = AlignedReference(ENGLISH, english, np.array(links, np.int32).reshape(-1, 2))
    return CrosslingualFaithfulness()(Subject(GERMAN, None), german, alignment=aligned)


def test_equation_3_sums_the_words_that_are_linked() -> None:
    """20 and Uhr both belong to 8pm, treffen and uns to meet; what is linked with nothing is 0. To 1e-12."""
    german = np.array([0.1, 0.2, -0.05, 0.4, 0.7, 0.25, 0.3])
    sums, linked = aligned_scores(german, LINKS[1:], 5)
    np.testing.assert_allclose(sums, [0.0, 0.15, 0.4, 0.95, 0.3], atol=1e-12)
    assert linked == 4


def test_a_word_that_translates_two_counts_for_both() -> None:
    sums, linked = aligned_scores(np.array([2.0, 3.0]), ((0, 0), (1, 0), (1, 1)), 3)
    np.testing.assert_array_equal(sums, [2.0, 5.0, 0.0])
    assert linked == 2


def test_the_correlation_by_hand() -> None:
    """Sums 0.1, 0.15, 0.4, 0.95, 0.3 rank 1 2 4 5 3; the English scores rank 2 1 4 5 3: rho = 1 - 6 * 2 / 120."""
    german = _explained(GERMAN, [0.1, 0.2, -0.05, 0.4, 0.7, 0.25, 0.3])
    english = _explained(ENGLISH, [0.2, 0.1, 0.5, 0.9, 0.3])
    assert _measured(german, english) == pytest.approx(0.9, abs=1e-12)
    assert _compared(german, english, LINKS[1:]).series == {"linked": (4.0, 5.0)}


values = st.integers(-3, 3) | st.floats(-5, 5, allow_nan=False)


@given(st.lists(st.tuples(values, values), min_size=2, max_size=12))
def test_spearman_with_ties_is_scipys(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array(side, float) for side in zip(*pairs, strict=True))
    if len(set(a)) == 1 or len(set(b)) == 1:
        with pytest.raises(Undefined, match="constant_scores"):
            spearman(a, b)
        return
    assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)


def test_the_side_that_is_constant_is_named() -> None:
    flat, varied = np.ones(4), np.arange(4.0)
    with pytest.raises(Undefined, match="of the reference are equal"):
        spearman(flat, varied)
    with pytest.raises(Undefined, match="of the translation are equal"):
        spearman(varied, flat)


def test_what_has_no_value_says_why() -> None:
    german, english = _explained(GERMAN, [0.1] * 6 + [0.2]), _explained(ENGLISH, [0.2, 0.1, 0.5, 0.9, 0.3])
    with pytest.raises(Undefined, match="no_links"):
        _measured(german, english, ())
    with pytest.raises(Undefined, match="too_few_words"):
        _measured(german, _explained(ENGLISH, [0.2], skip=(1, 2, 3, 4)))
    pair = Highlight("1/de", "m", "token_interaction", Target(), ((Span(0, 0, 1), Span(1, 0, 1)),), (1.0,))
    with pytest.raises(Undefined, match="needs_token_scores"):
        _measured(pair, english)


def test_words_that_the_model_did_not_see_are_left_out_of_the_reference_and_add_nothing_in_the_translation() -> None:
    english = _explained(ENGLISH, [0.2, 0.1, 0.5, 0.9], skip=(4,))
    german = _explained(GERMAN, [0.1, 0.2, 0.4, 0.7, 0.25, 0.3], skip=(2,))
    assert np.isnan(scores_of_words(GERMAN, german)[2])
    # sums over the four words: 0.1, 0.2, 0.4, 0.95; ranks 1 2 3 4 against 2 1 3 4
    assert _measured(german, english) == pytest.approx(0.8, abs=1e-12)


@given(st.lists(st.floats(-2, 2, allow_nan=False), min_size=7, max_size=7, unique=True))
def test_scaling_an_explanation_changes_nothing(scores: list[float]) -> None:
    english = _explained(ENGLISH, [0.2, 0.1, 0.5, 0.9, 0.3])
    try:
        value = _measured(_explained(GERMAN, scores), english)
    except Undefined:
        return
    assert _measured(_explained(GERMAN, [4 * score for score in scores]), english) == value


def test_a_reference_language_has_a_name() -> None:
    with pytest.raises(UserError, match="reference_lang"):
        CrosslingualFaithfulness(reference_lang="")


@pytest.mark.parametrize("seed", range(5))
def test_the_partial_correlation_is_that_of_the_inverse_of_the_correlation_matrix(seed: int) -> None:
    """To 1e-9: -p_01 / sqrt(p_00 p_11) of the inverse p of all Spearman correlations."""
    rng = np.random.default_rng(seed)
    constant = rng.integers(0, 4, (30, 2)).astype(float)
    a, b = (rng.normal(size=30) + constant @ [1.0, -0.5] for _ in range(2))
    inverse = np.linalg.inv(spearmanr(np.column_stack([a, b, constant])).statistic)
    expected = -inverse[0, 1] / np.sqrt(inverse[0, 0] * inverse[1, 1])
    assert spearman(a, b, constant) == pytest.approx(expected, abs=1e-9)
    assert abs(spearman(a, b, constant)) < abs(spearman(a, b))


def test_what_is_held_constant_explains_nothing_any_more() -> None:
    part = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    with pytest.raises(Undefined, match="the form of words explains all scores of the reference"):
        spearman(part, part + np.array([0.0, 1, 2, 0, 1, 2]), part[:, None])
    # within each part the scores agree, between the parts they do not
    assert spearman(np.array([1.0, 2, 3, 7, 8, 9]), np.array([7.0, 8, 9, 1, 2, 3]), part[:, None]) == pytest.approx(1.0)


def test_the_form_of_both_sides_is_held_constant(classifier: Callable[..., Classifier]) -> None:
    """Scores that are the number of sub-words on either side have no other agreement."""
    x, links = Subject(GERMAN, classifier("bert")), np.array(LINKS, np.int32)
    english, german = (
        _explained(one, word_form(Subject(one, classifier("bert")), "subwords").tolist()) for one in (ENGLISH, GERMAN)
    )
    metric = CrosslingualFaithfulness(controlling=("part", "subwords"))
    with pytest.raises(Undefined, match="the form of words explains"):
        metric(x, german, alignment=AlignedReference(ENGLISH, english, links))
    assert CrosslingualFaithfulness()(x, german, alignment=AlignedReference(ENGLISH, english, links)).value is not None
