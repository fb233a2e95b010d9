"""Areas between masking curves against Equation 3 written as a loop; intervals against scipy and against simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.metrics import f1_score, matthews_corrcoef

from verax.stats import simes
from verax.stats.areas import NO_AREA, MaskedRun, acu, masked_runs, masking_curves, racu
from verax.stats.inference import bca, bca_of
from verax.types import FloatArray, IntArray, MaskingCurve, MaskingCurves, Performance, Score

values = st.floats(0, 1, allow_subnormal=False)


def _equation_3(b: Sequence[float], p: Sequence[float]) -> tuple[float, float]:
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
def test_acu_and_racu_are_equation_3(both: tuple[FloatArray, FloatArray]) -> None:
    area, normaliser = _equation_3(*(curve.tolist() for curve in both))
    assert float(acu(*both)) == pytest.approx(area, abs=1e-12)
    if abs(normaliser) > 1e-9:
        assert float(racu(*both)) == pytest.approx(area / normaliser, rel=1e-9, abs=1e-12)


def test_a_case_by_hand() -> None:
    random, curve = np.array([1.0, 0.75, 0.5]), np.array([1.0, 0.5, 0.5])
    # two steps of 1/2: (0 + 1/4)/4 + (1/4 + 0)/4 = 1/8; the whole: (1/2 + 1/4)/4 + (1/4 + 0)/4 = 1/4
    assert acu(random, curve) == 0.125
    assert racu(random, curve) == 0.5


def test_many_curves_at_once() -> None:
    rng = np.random.default_rng(0)
    random, curves = rng.random((7, 1, 11)), rng.random((7, 4, 11))
    areas, relative = acu(random, curves), racu(random, curves)
    assert areas.shape == relative.shape == (7, 4)
    area, normaliser = _equation_3(random[5, 0].tolist(), curves[5, 2].tolist())
    assert (areas[5, 2], relative[5, 2]) == pytest.approx((area, area / normaliser))


GOLD = 0


def _scores(method: str, predicted: Mapping[str, Sequence[int]], gold: Mapping[str, int] | None = None) -> list[Score]:
    found = []
    for name, row in predicted.items():
        series = {"predicted": tuple(map(float, row)), "gold": (float((gold or {}).get(name, GOLD)),)}
        found.append(Score(name, method, "recursive_masking", 0.0, series=series))
    return found


def _run(predicted: Mapping[str, Any], metric: Performance = "accuracy", **more: Any) -> MaskedRun:
    """A run from what was predicted at each point, by measure and instance; gold is 0 unless said otherwise."""
    gold = more.pop("gold", None)
    curves = [score for method, rows in predicted.items() for score in _scores(method, rows, gold)]
    given = {"p_values": [], "baseline": "random", "signed": {}, **more}
    return MaskedRun(curves=curves, metric=metric, **given)


def _of(found: MaskingCurves | None, method: str) -> MaskingCurve:
    assert found is not None
    return next(curve for curve in found.curves if curve.method == method)


RIGHT_UNTIL = {"random": {"a": [0, 0, 1], "b": [0, 1, 1]}}


def test_one_run_by_hand_and_nothing_is_clipped() -> None:
    """Random: 1, 1/2, 0. A signed measure turns the model round at once and comes back; an inverted one never hurts."""
    run = _run(
        {
            **RIGHT_UNTIL,
            "best": {"a": [0, 1, 1], "b": [0, 1, 1]},
            "signed": {"a": [1, 1, 1], "b": [1, 1, 1]},
            "inverted": {"a": [0, 0, 0], "b": [0, 0, 0]},
        },
        signed={"best": False},
    )
    found = masking_curves([run])
    assert found is not None
    assert (found.baseline, found.majority) == ("random", 1.0)
    assert [point.value for point in _of(found, "random").curve] == [1.0, 0.5, 0.0]
    expected = {"random": (0.0, 0.0), "best": (0.25, 0.5), "signed": (0.5, 1.0), "inverted": (-0.5, -1.0)}
    for method, (area, relative) in expected.items():
        curve = _of(found, method)
        assert curve.racu is not None
        assert (curve.acu.value, curve.racu.value) == (area, relative)
        assert (curve.n, curve.skipped, curve.over, curve.reason) == (2, 0, "instances", None)
    assert [curve.signed for curve in found.curves] == [True, False, True, True]

    random = {str(i): [0, 0, 0, 0, 1 if i < 5 else 0] for i in range(10)}
    wild = masking_curves([_run({"random": random, "signed": {name: [0, 1, 1, 1, 1] for name in random}})])
    relative = _of(wild, "signed").racu
    assert relative is not None
    assert relative.value > 1.5


def test_without_an_area_racu_is_missing_and_says_why() -> None:
    flat = {name: [0, 0, 0] for name in "abc"}
    curve = _of(masking_curves([_run({"random": flat, "best": {name: [0, 1, 1] for name in "abc"}})]), "best")
    assert (curve.racu, curve.reason) == (None, NO_AREA)
    assert curve.acu.value == pytest.approx(0.75)  # (0 + 1)/4 + (1 + 1)/4


@pytest.mark.parametrize("metric", ["macro_f1", "matthews"])
def test_metrics_of_a_whole_data_set(metric: Performance) -> None:
    rng = np.random.default_rng(1)
    names = [str(i) for i in range(50)]
    gold = {name: int(rng.integers(3)) for name in names}
    rows = {method: {name: rng.integers(0, 3, 5) for name in names} for method in ("random", "best")}
    found = masking_curves([_run(rows, metric, gold=gold)], resamples=0)
    golds = list(gold.values())

    def expected(method: str, point: int) -> float:
        guessed = [rows[method][name][point] for name in names]
        return float(
            matthews_corrcoef(golds, guessed) if metric == "matthews" else f1_score(golds, guessed, average="macro")
        )

    curves = {method: [expected(method, point) for point in range(5)] for method in rows}
    assert [point.value for point in _of(found, "best").curve] == pytest.approx(curves["best"])
    area, normaliser = _equation_3(curves["random"], curves["best"])
    assert _of(found, "best").acu.value == pytest.approx(area)
    relative = _of(found, "best").racu
    assert relative is not None
    assert relative.value == pytest.approx(area / normaliser)


def test_a_measure_is_compared_on_the_instances_that_both_have() -> None:
    """`best` lacks a and has z, which random lacks; its random curve is the one over b and c alone."""
    random = {"a": [0, 0, 0], "b": [0, 1, 1], "c": [0, 0, 1]}
    run = _run({"random": random, "best": {"b": [0, 1, 1], "c": [0, 1, 1], "z": [0, 1, 0]}, "far": {"z": [0, 0, 1]}})
    run = MaskedRun(
        [*run.curves, Score("d", "best", "recursive_masking", None, "too_long")], [], "accuracy", "random", {}
    )
    found = masking_curves([run])
    curve = _of(found, "best")
    assert (curve.n, curve.skipped) == (2, 3)  # a, z and d
    assert [point.value for point in curve.curve] == [1.0, 0.0, 0.0]
    assert curve.acu.value == 0.25  # b and c: 1, 1/2, 0 at random
    assert (_of(found, "random").n, _of(found, "random").skipped) == (3, 0)
    assert {curve.method for curve in (found.curves if found else ())} == {"random", "best"}


def test_without_a_random_measure_there_is_nothing_to_compare_with() -> None:
    assert masking_curves([_run({"best": {"a": [0, 1]}})]) is None
    assert masking_curves([]) is None
    assert masking_curves([_run(RIGHT_UNTIL, baseline="dice")]) is None


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


def _simulated(rng: np.random.Generator, n: int, random: Sequence[float], best: Sequence[float]) -> dict[str, Any]:
    """Predictions that are right, each by chance, with the given probabilities at each point."""
    return {
        method: dict(zip(map(str, range(n)), (rng.random((n, len(p))) >= np.array(p)).astype(int), strict=True))
        for method, p in (("random", random), ("best", best))
    }


RANDOM, BEST = (0.9, 0.8, 0.7, 0.6, 0.4), (0.9, 0.6, 0.4, 0.4, 0.4)


def test_the_interval_of_acu_is_scipys() -> None:
    """With accuracy it is a mean: of each instance's own area. Ends within 2 % of the width, from other resamples."""
    rows = _simulated(np.random.default_rng(3), 80, RANDOM, BEST)
    found = _of(masking_curves([_run(rows)], resamples=20_000), "best").acu
    right = {method: 1.0 - np.array(list(row.values())) for method, row in rows.items()}
    areas = np.trapezoid(right["random"] - right["best"], dx=0.25, axis=1)
    assert found.value == pytest.approx(areas.mean())
    low, high = stats.bootstrap(
        (areas,), np.mean, method="BCa", n_resamples=20_000, rng=np.random.default_rng(9)
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02 * (high - low))


def test_the_interval_of_acu_holds_the_truth_about_as_often_as_it_says() -> None:
    """Of 200 draws 95 % in expectation, 1.5 points of spread; the bound leaves four of them below, for n = 50."""
    truth, _ = _equation_3(RANDOM, BEST)
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(200):
        area = _of(masking_curves([_run(_simulated(rng, 50, RANDOM, BEST))], resamples=400), "best").acu
        assert area.low is not None
        assert area.high is not None
        held += area.low <= truth <= area.high
    assert 0.89 <= held / 200 < 1.0


def test_intervals_repeat_and_end_where_they_cannot_be_had() -> None:
    rows = _simulated(np.random.default_rng(5), 30, RANDOM, BEST)
    one, two, other = (masking_curves([_run(rows)], seed=seed, resamples=200) for seed in (0, 0, 1))
    assert one == two
    assert one != other
    single = _of(masking_curves([_run({"random": {"a": [0, 1]}, "best": {"a": [0, 1]}})]), "best")
    assert (single.acu.low, single.acu.high) == (None, None)


def test_several_runs_give_intervals_over_seeds() -> None:
    runs = [_run(_simulated(np.random.default_rng(seed), 40, RANDOM, BEST)) for seed in range(4)]
    extra = {**_simulated(np.random.default_rng(9), 40, RANDOM, BEST), "alone": {"0": [0, 0, 0, 0, 0]}}
    runs.append(_run(extra))
    single = [_of(masking_curves([run], resamples=0), "best") for run in runs]
    found = masking_curves(runs)
    curve = _of(found, "best")
    assert (curve.over, curve.n, curve.skipped) == ("seeds", 40, 0)
    for mean, each in (
        (curve.acu, [one.acu.value for one in single]),
        (curve.racu, [_relative(one) for one in single]),
    ):
        assert mean is not None
        assert mean.value == pytest.approx(np.mean(each))
        assert (mean.low, mean.high) == bca(np.array(each))
    assert [p.value for p in curve.curve] == pytest.approx(
        np.mean([[p.value for p in one.curve] for one in single], axis=0)
    )
    assert found is not None
    assert found.runs == 5
    assert {each.method for each in found.curves} == {"random", "best"}, "only what all runs have"


def _relative(curve: MaskingCurve) -> float:
    assert curve.racu is not None
    return curve.racu.value


def test_of_several_runs_with_one_that_has_curves_the_intervals_are_over_its_instances() -> None:
    run = _run(_simulated(np.random.default_rng(6), 40, RANDOM, BEST))
    assert masking_curves([_run({"best": {"a": [0, 1]}}), run], resamples=200) == masking_curves([run], resamples=200)


def _tested(method: str, p: IntArray | FloatArray) -> list[Score]:
    return [Score(str(i), method, "in_distribution", 0.5, curve=tuple(map(float, row))) for i, row in enumerate(p)]


def test_p_values_are_simes_at_each_ratio_and_the_worst_of_seeds() -> None:
    rng = np.random.default_rng(7)
    rows = _simulated(rng, 20, RANDOM, BEST)
    p = [rng.random((20, 5)) ** 2 for _ in range(2)]
    missing = Score("gone", "best", "in_distribution", None, "too_long")
    runs = [_run(rows, p_values=[*_tested("best", one), missing]) for one in p]
    each = [tuple(simes(one[:, ratio]) for ratio in range(5)) for one in p]
    assert _of(masking_curves([runs[0]], resamples=0), "best").p_values == each[0]
    assert _of(masking_curves([runs[0]], resamples=0), "random").p_values is None
    found = _of(masking_curves(runs), "best")
    assert found.p_values == tuple(min(pair) for pair in zip(*each, strict=True))
    assert each[0] != each[1]
    outside = [
        ratio for ratio, value in zip((0.0, 0.25, 0.5, 0.75, 1.0), found.p_values or (), strict=True) if value < 0.2
    ]
    assert found.outside(0.2) == tuple(outside)


def _entry(name: str, label: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "label": label or name, **more}


def test_runs_are_found_in_their_card() -> None:
    card = {
        "data": {"metric": "matthews"},
        "methods": [_entry("random", "dice", signed=False), _entry("saliency", signed=False), _entry("lime")],
        "metrics": [
            _entry("recursive_masking", "fine", parameters={"steps": 20}),
            _entry("recursive_masking", "coarse", parameters={"steps": 10}),
            _entry("recursive_masking", "never run", parameters={"steps": 5}),
            _entry("in_distribution", "test of 10", parameters={"steps": 10}),
            _entry("in_distribution", "test of 10 again", parameters={"steps": 10}),
            _entry("in_distribution", "test of 30", parameters={"steps": 30}),
        ],
    }
    scores = [Score("a", "lime", entry["label"], 0.0) for entry in card["metrics"] if entry["label"] != "never run"]  # type: ignore[index]
    found = masked_runs(card, scores)
    assert list(found) == ["fine", "coarse"]
    assert [score.metric for score in found["coarse"].curves] == ["coarse"]
    assert [score.metric for score in found["coarse"].p_values] == ["test of 10"]
    assert found["fine"].p_values == []
    assert (found["fine"].metric, found["fine"].baseline) == ("matthews", "dice")
    assert found["fine"].signed == {"dice": False, "saliency": False, "lime": True}


MASKING = [_entry("recursive_masking")]


@pytest.mark.parametrize(
    "card",
    [
        {"metrics": MASKING},
        {"metrics": [*MASKING, None, 3, {"name": "in_distribution"}, {"name": "recursive_masking"}], "methods": "x"},
        {"metrics": MASKING, "methods": [{"name": "random"}, {"label": ["x"]}, 7], "data": "sst2"},
        {
            "metrics": [*MASKING, _entry("in_distribution", parameters="x")],
            "data": {"metric": ["odd"]},
            "methods": None,
        },
    ],
)
def test_odd_cards_are_read_as_far_as_they_go(card: dict[str, Any]) -> None:
    found = masked_runs(card, _run(RIGHT_UNTIL).curves)
    run = found["recursive_masking"]
    assert (run.metric, run.baseline, run.signed) == ("accuracy", "random", {})
    assert _of(masking_curves([run]), "random").n == 2


@pytest.mark.parametrize("card", [{}, {"metrics": None}, {"metrics": {"label": "x"}}, {"metrics": [[]]}])
def test_a_card_without_masking_has_no_runs(card: dict[str, Any]) -> None:
    assert masked_runs(card, _run(RIGHT_UNTIL).curves) == {}
