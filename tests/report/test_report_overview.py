"""The signs of the overview, and where a long label may be broken."""

from types import SimpleNamespace

import pytest
from verax.report.overview import BEST, WEAK, _cell

from verax.report.labels import method_label
from verax.types import Summary

CONTENT = SimpleNamespace(baselines={"saliency": "random"}, chance="random")


@pytest.mark.parametrize(
    ("best", "p", "signs"),
    [(True, 0.001, BEST), (True, 0.6, BEST + WEAK), (False, 0.6, WEAK), (False, 0.001, "")],
)
def test_the_best_that_is_no_better_than_chance_has_both_signs(best, p, signs):
    cell = _cell(CONTENT, Summary("x", "m", 0.5, 0.4, 0.6, 5, 0, 0.4, p, p), best=best)
    assert "".join(sign for sign in cell if sign in BEST + WEAK) == signs
    assert cell.count('class="sign"') == bool(signs), "one element: two would lie on top of each other"


def test_a_label_breaks_between_its_words_and_nowhere_else():
    assert "saliency<wbr>(<wbr>aggregate=<wbr>l2)" in method_label(CONTENT, "saliency(aggregate=l2)")
    assert "attention_<wbr>attribution" in method_label(CONTENT, "attention_attribution")
    assert "&lt;b&gt;<wbr>(" in method_label(CONTENT, "<b>(x)")
