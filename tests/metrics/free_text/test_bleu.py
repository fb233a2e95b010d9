"""BLEU: values and counts against sacrebleu's own corpus score."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from support.rigged import Rigged, instance, posed, result
from verax.engine.protocols import TextMetric
from verax.metrics.free_text import bleu
from verax.metrics.free_text.bleu import Bleu
from verax.types import Measured, Nle, Target, Undefined, UserError

SAID = (
    ("A man who sleeps does not run.", ("A man that sleeps is not one who runs.", "Sleeping men do not run.")),
    ("the dog is outside", ("The dog is outside, in a garden.", "A garden is outside.")),
    ("no", ("Not all women are tall.", "Women may be short.")),
)


def measured(text: str, references: tuple[str, ...]) -> Measured:
    x = posed(instance("a", "b", explained=references), Rigged())
    found: Measured = result(Bleu()(x, Nle("i", "m", Target(), text, "neutral", x.model.labels)))
    return found


def test_it_is_a_metric_of_text() -> None:
    assert isinstance(Bleu(), TextMetric)
    assert Bleu().provenance["bleu"].startswith("sacrebleu 2")


def test_the_corpus_score_follows_from_the_sums() -> None:
    found = [measured(*one) for one in SAID]
    sums = {name: np.sum([one.series[name] for one in found], axis=0).astype(int) for name in found[0].series}
    counts = sums["correct"].tolist(), sums["total"].tolist(), *sums["lengths"].tolist()
    ours = BLEU.compute_bleu(*counts, smooth_method="exp")
    references = [[refs[n] for _, refs in SAID] for n in range(2)]
    theirs = BLEU().corpus_score([text for text, _ in SAID], references)
    assert ours.score == pytest.approx(theirs.score, abs=1e-9)
    assert 0 < theirs.score < 100


def test_values_by_hand() -> None:
    assert measured("a b c d e", ("f", "a b c d e")).value == pytest.approx(1.0)
    assert measured("a b c d e", ("a b c d e", "f")).value <= 1.0
    assert measured("x y", ("a b c d",)).value == 0.0
    # precisions 3/4, 2/3, 1/2 and, smoothed, 1/2 of 1/1; as long as its reference
    assert measured("a b c x", ("a b c d",)).value == pytest.approx((3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** 0.25)
    found = measured("a b c x", ("a b c d",))
    assert found.series == {"correct": (3, 2, 1, 0), "total": (4, 3, 2, 1), "lengths": (4, 4)}


@pytest.mark.parametrize("references", [(), (" ",)])
def test_without_a_reference_there_is_no_value(references: tuple[str, ...]) -> None:
    with pytest.raises(Undefined, match="no_gold"):
        measured("so", references)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    bleu._bleu.cache_clear()
    with pytest.raises(UserError, match=r"sacrebleu, which is not installed: pip install 'verax\[nle\]'"):
        measured("so", ("so",))
