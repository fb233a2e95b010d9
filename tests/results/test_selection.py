"""Instances chosen from columns, against loops over objects."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from support.runs import make_run, method_entry, metric_entry, run_card, text_of, word_run
from verax.results.run import Run
from verax.results.selection import InstanceIndex, Query
from verax.types import Highlight, Instance, Nle, Prediction, Score, Skip, Target


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Twelve inputs; three methods besides random, two metrics in opposite directions, and gaps everywhere."""
    rng = np.random.default_rng(3)
    instances = [Instance(f"n{i}", (text_of(f"Word{i} of a text"), text_of("ünder Ice")), "yes") for i in range(12)]
    methods = ("random", "a", "b", "c")
    highlights = [
        Highlight(one.id, method, "token", Target(), one.units, tuple(rng.integers(-3, 4, len(one.units)) / 2.0))
        for one in instances
        for method in methods
        if rng.random() < 0.8
    ]
    scores = [
        Score(one.id, method, metric, float(rng.integers(0, 5)))
        for metric in ("comp", "suff", "size")
        for one in instances
        for method in methods
        if rng.random() < 0.8
    ]
    metrics = [metric_entry("comp"), metric_entry("suff", higher=False), metric_entry("size", ranked=False)]
    return make_run(
        tmp_path_factory.mktemp("run"),
        card=run_card([method_entry("random", random=True), *map(method_entry, methods[1:])], metrics),
        instances=instances,
        predictions=[
            Prediction(one.id, "no" if i % 5 == 0 else "YES", ("no", "yes"), (0.5, 0.5))
            for i, one in enumerate(instances)
        ],
        highlights=highlights,
        skips=[Skip("n4", "a", "empty"), Skip("gone", "a", "empty")],
        scores=scores,
    )


def ids(run: Run, **query: object) -> list[str]:
    index = InstanceIndex(run)
    return [index.ids[number] for number in index.select(Query(**query))]  # type: ignore[arg-type]


def test_filters(run: Run) -> None:
    assert ids(run) == [f"n{i}" for i in range(12)]
    assert ids(run, text=" WORD1 ") == ["n1", "n10", "n11"]
    assert ids(run, text="N7") == ["n7"]
    assert ids(run, text="ÜNDER i") == [f"n{i}" for i in range(12)]
    assert ids(run, text="zebra") == []
    assert ids(run, wrong=True) == ["n0", "n5", "n10"]
    assert ids(run, wrong=True, text="word1") == ["n10"]
    assert ids(run, skipped=True) == ["n4"]
    assert ids(run, label="no") == ["n0", "n5", "n10"]
    assert len(ids(run, label="yes")) == 12
    assert InstanceIndex(run).labels == ("YES", "no", "yes")


def test_disagreement_is_the_share_of_pairs_with_another_strongest_word(run: Run) -> None:
    index = InstanceIndex(run)
    made = {(row.instance_id, row.method): row for row in run.highlights()}
    for number, name in enumerate(index.ids):
        tops = []
        for method in "abc":
            if (name, method) in made:
                sizes = [abs(score) for score in made[name, method].scores]
                tops.append(made[name, method].units[sizes.index(max(sizes))])
        pairs = list(combinations(tops, 2))
        expected = np.mean([one != other for one, other in pairs]) if pairs else math.nan
        assert index.disagreement[number] == pytest.approx(expected, nan_ok=True)
    assert np.unique(index.disagreement[~np.isnan(index.disagreement)]).size > 1
    values = [index.disagreement[index.ids.index(name)] for name in ids(run, order="disagreement")]
    assert values == sorted(values, reverse=True)
    assert not np.isnan(values).any()


def test_gap_is_the_largest_difference_of_ranks_of_one_explanation(run: Run) -> None:
    index = InstanceIndex(run)
    values = {
        (row.instance_id, row.method, row.metric): row.value for row in run.score_rows() if row.method != "random"
    }

    def share(name: str, method: str, metric: str) -> float:
        sign = -1 if metric == "suff" else 1
        others = [sign * value for (_, _, other), value in values.items() if other == metric and value is not None]
        own = sign * values[name, method, metric]  # type: ignore[operator]
        return sum((value < own) + 0.5 * (value == own) for value in others) / len(others)

    for number, name in enumerate(index.ids):
        both = [m for m in "abc" if all((name, m, metric) in values for metric in ("comp", "suff"))]
        gaps = [abs(share(name, method, "comp") - share(name, method, "suff")) for method in both]
        assert index.gap[number] == pytest.approx(max(gaps, default=math.nan), nan_ok=True)
    assert ids(run, order="gap")[0] == index.ids[int(np.nanargmax(index.gap))]


def test_wrong_answers_in_free_text(tmp_path: Path) -> None:
    instances = [Instance(f"n{i}", (text_of("a text"),), "yes") for i in range(2)]
    texts = [
        Nle(one.id, "own", Target(), "because", label, ("no", "yes"), (0.5, 0.5))
        for one, label in zip(instances, ("yes", "no"), strict=True)
    ]
    made = make_run(tmp_path, card=run_card([method_entry("own", kind="text")], []), instances=instances, texts=texts)
    assert ids(made, wrong=True) == ["n1"]


def test_a_run_without_explanations_has_no_order(tmp_path: Path) -> None:
    made = word_run(tmp_path, highlights=[], scores=[], predictions=[])
    assert ids(made, order="disagreement") == ids(made, order="gap") == ids(made, wrong=True) == []
