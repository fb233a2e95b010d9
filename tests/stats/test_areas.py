"""Areas between performance curves against Equation 3 written as a loop; intervals against scipy and simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.metrics import f1_score, matthews_corrcoef

from verax.stats.areas import Areas, acu, curve_areas, racu
from verax.stats.intervals import bca_of
from verax.types import FloatArray, IntArray, Performance

values = st.floats(0, 1, allow_subnormal=False)


def equation_3(b: Sequence[float], p: Sequence[float]) -> tuple[float, float]:
    """ACU and what RACU divides it by, as the paper writes them: b is the random curve, p the one of a measure."""
    last = len(p) - 1
    x = [i / last for i in range(last + 1)]
    area = normaliser = 0.0
    for i in range(last):
        step = x[i + 1] - x[i]
        area += 0.5 * step * ((b[i] - p[i]) + (b[i + 1] - p[i + 1]))
        normaliser += 0.5 * step * ((b[i] - b[last]) + (b[i + 1] - b[last]))
    return area, normaliser


@given(
    st.integers(2, 12).flatmap(lambda n: st.tuples(*(arrays(float, n, elements=values) for _ in range(2)))),
)
@settings(max_examples=150, deadline=None)
def test_acu_and_racu_areequation_3(both: tuple[FloatArray, FloatArray]) -> None:
    area, normaliser = equation_3(*(curve.tolist() for curve in both))
    assert float(acu(*both)) == pytest.approx(area, abs=1e-12)
    if normaliser > 1e-9:
        assert float(racu(*both)) == pytest.approx(area / normaliser, rel=1e-9, abs=1e-12)
    elif normaliser < 1e-13:
        assert np.isnan(racu(*both))


def test_a_case_by_hand() -> None:
    random, curve = np.array([1.0, 0.75, 0.5]), np.array([1.0, 0.5, 0.5])
    # two steps of 1/2: (0 + 1/4)/4 + (1/4 + 0)/4 = 1/8; the whole: (1/2 + 1/4)/4 + (1/4 + 0)/4 = 1/4
    assert acu(random, curve) == 0.125
    assert racu(random, curve) == 0.5


def test_many_curves_at_once() -> None:
    rng = np.random.default_rng(0)
    random, curves = np.sort(rng.random((7, 1, 11)))[..., ::-1], rng.random((7, 4, 11))
    areas, relative = acu(random, curves), racu(random, curves)
    assert areas.shape == relative.shape == (7, 4)
    area, normaliser = equation_3(random[5, 0].tolist(), curves[5, 2].tolist())
    assert (areas[5, 2], relative[5, 2]) == pytest.approx((area, area / normaliser))


def areas(random: Sequence[Sequence[int]], curve: Sequence[Sequence[int]], gold: Sequence[int] | None = None) -> Areas:
    """By accuracy; gold is 0 unless given."""
    golds = np.zeros(len(random), np.int64) if gold is None else np.array(gold)
    return curve_areas(golds, np.array(random)[:, None], np.array(curve)[:, None], "accuracy")


@pytest.mark.parametrize(
    ("curve", "area", "relative"),
    [
        ([[0, 0, 1], [0, 1, 1]], 0.0, 0.0),
        ([[0, 1, 1], [0, 1, 1]], 0.25, 0.5),
        ([[1, 1, 1], [1, 1, 1]], 0.5, 1.0),
        ([[0, 0, 0], [0, 0, 0]], -0.5, -1.0),
    ],
)
def test_one_run_by_hand_and_nothing_is_clipped(curve: list[list[int]], area: float, relative: float) -> None:
    """Random: 1, 1/2, 0. A signed measure flips the model at once; an inverted one never hurts."""
    found = areas([[0, 0, 1], [0, 1, 1]], curve)
    assert found.racu is not None
    assert (found.acu.value, found.racu.value) == (area, relative)


def test_a_signed_measure_can_exceed_one() -> None:
    random = [[0, 0, 0, 0, int(i < 5)] for i in range(10)]
    found = areas(random, [[0, 1, 1, 1, 1]] * 10)
    assert found.racu is not None
    assert found.racu.value > 1.5


def test_without_an_area_racu_is_missing() -> None:
    found = areas([[0, 0, 0]] * 3, [[0, 1, 1]] * 3)
    assert found.racu is None
    assert found.acu.value == pytest.approx(0.75)  # (0 + 1)/4 + (1 + 1)/4


def test_racu_is_undefined_where_random_masking_helps() -> None:
    """With inverted labels random masking raises accuracy: a measure that is worse than random had a large RACU."""
    random, worse = [[1, 1, 0]] * 5 + [[1, 0, 0]] * 5, [[1, 0, 0]] * 10
    found = areas(random, worse)
    assert found.acu.value < 0
    assert found.random.value < 0
    assert found.racu is None


def test_racu_has_no_interval_where_the_area_of_random_may_be_none() -> None:
    found = areas([[0, 1, 1]] + [[0, 0, 0]] * 19, [[0, 1, 1]] * 20)
    assert found.random.low is not None
    assert found.random.value > 0 >= found.random.low
    assert found.racu is not None
    assert found.racu.interval is None


@pytest.mark.parametrize("metric", ["macro_f1", "matthews"])
def test_the_random_curve_is_the_mean_of_the_curves_of_its_maskings(metric: Performance) -> None:
    rng = np.random.default_rng(8)
    gold, random, best = rng.integers(0, 3, 50), rng.integers(0, 3, (50, 4, 5)), rng.integers(0, 3, (50, 1, 5))
    each = [curve_areas(gold, random[:, [draw]], best, metric, resamples=0) for draw in range(4)]
    found = curve_areas(gold, random, best, metric, resamples=0)
    assert found.acu.value == pytest.approx(np.mean([one.acu.value for one in each]))
    assert found.curve == each[0].curve


@pytest.mark.parametrize("maskings", [1, 5])
def test_the_variance_of_the_maskings_is_in_the_intervals(maskings: int) -> None:
    """Inputs of two kinds, on which masks hurt often or seldom: intervals hold the truth in 95 % of 200 data sets.

    They are those of the mean over inputs of each input's own area, and narrower for more maskings.
    """
    rng = np.random.default_rng(maskings)
    held, width = 0, []
    for _ in range(200):
        hurt = rng.choice([0.1, 0.9], 60)
        random = (rng.random((60, maskings, 3)) < hurt[:, None, None]).astype(int)
        found = curve_areas(np.zeros(60, int), random, np.ones((60, 1, 3), int), "accuracy", resamples=400).acu
        assert found.interval is not None
        held += found.low <= 0.5 <= found.high
        width.append(found.high - found.low)
    assert 0.89 <= held / 200 < 1.0
    # inputs differ with variance 0.16, draws of one input with 0.09 at each of three points of weight 1/4, 1/2, 1/4
    variance = 0.16 + 0.09 * 0.375 / maskings
    assert np.mean(width) == pytest.approx(2 * 1.96 * (variance / 60) ** 0.5, rel=0.05)


@pytest.mark.parametrize("metric", ["macro_f1", "matthews"])
def test_metrics_of_a_whole_data_set(metric: Performance) -> None:
    rng = np.random.default_rng(1)
    gold = rng.integers(0, 3, 50)
    random, best = rng.integers(0, 3, (2, 50, 5))
    random[:, 0] = gold  # so that masking at random costs something
    found = curve_areas(gold, random[:, None], best[:, None], metric, resamples=0)

    def expected(predicted: IntArray) -> list[float]:
        if metric == "matthews":
            return [float(matthews_corrcoef(gold, column)) for column in predicted.T]
        return [float(f1_score(gold, column, average="macro")) for column in predicted.T]

    assert [point.value for point in found.curve] == pytest.approx(expected(best))
    area, normaliser = equation_3(expected(random), expected(best))
    assert found.acu.value == pytest.approx(area)
    assert found.racu is not None
    assert found.racu.value == pytest.approx(area / normaliser)
    assert found.acu.interval is None, "no resamples, no interval"


@pytest.mark.parametrize("kind", ["skewed", "with many ties"])
def test_bca_of_is_scipys_on_the_same_resamples(kind: str) -> None:
    rng = np.random.default_rng(2)
    x = rng.exponential(size=40) if kind == "skewed" else (rng.random(40) < 0.2).astype(float)
    result = stats.bootstrap((x,), np.mean, method="BCa", rng=np.random.default_rng(5))
    left_out = (x.sum() - x) / 39
    low, high = bca_of(np.array([x.mean()]), result.bootstrap_distribution[:, None], left_out[:, None])
    assert (low[0], high[0]) == pytest.approx(tuple(result.confidence_interval), rel=1e-9)


def test_bca_of_leaves_out_what_is_not_finite() -> None:
    nan = np.nan
    drawn = np.random.default_rng(0).normal(size=(2000, 1))
    holes = np.where(np.arange(2000)[:, None] % 2, drawn, nan)
    left_out = np.linspace(-1, 1, 9)[:, None]
    assert bca_of(np.zeros(1), holes, left_out)[0] == bca_of(np.zeros(1), drawn[1::2], left_out)[0]
    for observed, resampled in ((np.array([nan]), drawn), (np.zeros(1), nan * drawn)):
        assert all(np.isnan(end).all() for end in bca_of(observed, resampled, left_out))


RANDOM, BEST = (0.9, 0.8, 0.7, 0.6, 0.4), (0.9, 0.6, 0.4, 0.4, 0.4)


def simulated(rng: np.random.Generator, n: int) -> tuple[IntArray, IntArray, IntArray]:
    """Predictions that are right, at random, with the probabilities above at each point; 0 is right."""
    random, best = ((rng.random((n, len(p))) >= np.array(p)).astype(int) for p in (RANDOM, BEST))
    return np.zeros(n, np.int64), random[:, None], best[:, None]


def test_the_interval_of_acu_is_scipys() -> None:
    """With accuracy it is a mean: of each instance's own area. Ends within 2 % of the width, from other resamples."""
    gold, random, best = simulated(np.random.default_rng(3), 80)
    found = curve_areas(gold, random, best, "accuracy", resamples=20_000).acu
    each = np.trapezoid((1.0 - random[:, 0]) - (1.0 - best[:, 0]), dx=0.25, axis=1)
    assert found.value == pytest.approx(each.mean())
    low, high = stats.bootstrap(
        (each,), np.mean, method="BCa", n_resamples=20_000, rng=np.random.default_rng(9)
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02 * (high - low))


def test_the_interval_of_acu_covers_the_truth_about_as_often_as_it_says() -> None:
    """Of 200 draws 95 % in expectation, 1.5 points of spread; the bound leaves four of them below, for n = 50."""
    truth, _ = equation_3(RANDOM, BEST)
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(200):
        area = curve_areas(*simulated(rng, 50), "accuracy", resamples=400).acu
        assert area.interval is not None
        held += area.low <= truth <= area.high
    assert 0.89 <= held / 200 < 1.0


def test_intervals_repeat_and_end_where_there_are_none() -> None:
    rows = simulated(np.random.default_rng(5), 30)
    one, two, other = (curve_areas(*rows, "accuracy", seed=seed, resamples=200) for seed in (0, 0, 1))
    assert one == two
    assert one != other
    assert areas([[0, 1]], [[0, 1]]).acu.interval is None
