"""Runs of all three kinds: which span pairs set whose budget, what waits for what, and what is known of the corpus."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from verax.api import Run, evaluate
from verax.data.explanations import load_explanations
from verax.data.load import load_dataset
from verax.engine.questions import QuestionGenerator
from verax.metrics.ranking import budget_of
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.run.context import ExplanationSource
from verax.run.parameters import from_config
from verax.run.providers.budget import span_labels
from verax.studies.leaderboard.analysis import boards_of
from verax.types import Attribution, Kind, Passes, Undefined, UserError

N = 24
BIVARIATE: dict[str, Any] = {"bivariate_shapley": {"budget": 200}}
SPANS: dict[str, Any] = {"louvain": {"over": BIVARIATE, "stability": 0}}
ATTENTION_SPANS: dict[str, Any] = {"louvain": {"over": "attention_interaction", "stability": 0}}
METHODS: list[Any] = [
    {"kernel_shap": {"budget": 200}},
    "attention",
    BIVARIATE,
    "attention_interaction",
    {"attention_attribution": {"steps": 5}},
    SPANS,
    ATTENTION_SPANS,
    "random_interaction",
    "random_span",
]
METRICS: list[Any] = [
    "comprehensiveness_flips",
    "sufficiency_flips",
    "agreement",
    {"agreement": {"within": "budget"}},
    {"agreement": {"level": "interaction"}},
    {"complexity": {"top": "span_pairs"}},
]


@dataclass(frozen=True)
class GoldSpans:
    """The span pairs that decide the label, which the corpus knows."""

    kind: ClassVar[Kind] = "span_interaction"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "baseline"

    def passes(self, n: int) -> Passes:
        return Passes(0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        yield from ()
        human = x.instance.human
        if human is None or not human.span_pairs:
            raise Undefined("no_gold")
        units = tuple(dict.fromkeys(human.span_pairs))
        return Attribution(units, np.linspace(2, 1, len(units)))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    data = load_dataset("world/nli", limit=N)
    folder = tmp_path_factory.mktemp("kinds")
    return evaluate(load_model("world/nli"), data, [*METHODS, GoldSpans()], METRICS, out=folder, progress=False)


def mean(run: Run, method: str, metric: str) -> float:
    values = [s.value for s in run.score_rows() if (s.method, s.metric) == (method, metric) and s.value is not None]
    assert values, (method, metric)
    return float(np.mean(values))


def test_every_kind_has_every_property(run: Run) -> None:
    labels = [entry["label"] for entry in run.tables.card["methods"]]
    kinds = {entry["label"]: entry["kind"] for entry in run.tables.card["methods"]}
    for label in labels:
        for metric in run.metrics:
            values = [s for s in run.score_rows() if (s.method, s.metric) == (label, metric)]
            assert len(values) == N
            paired = metric == "agreement(level=interaction)" and kinds[label] == "token"
            reasons = {score.reason for score in values}
            assert reasons <= ({"needs_interactions"} if paired else {None, "no_gold", "no_edges"})


@pytest.mark.parametrize("metric", ["agreement", "agreement(level=interaction)"])
def test_the_gold_span_pairs_agree_best(run: Run, metric: str) -> None:
    gold = mean(run, "GoldSpans", metric)
    others = [entry["label"] for entry in run.tables.card["methods"] if entry["label"] != "GoldSpans"]
    if metric != "agreement":
        assert gold > 0.99
        others = [e["label"] for e in run.tables.card["methods"] if e["kind"] != "token" and e["label"] != "GoldSpans"]
    assert all(gold > mean(run, other, metric) for other in others)


def test_the_gold_span_pairs_are_comprehensive(tmp_path: Path) -> None:
    """Deleted, the decisive spans change more predictions than as many random words, pairs or equally long spans.

    Not so masked: the shipped models never saw a mask token, and many of them anywhere change what they say.
    """
    data, deleted = load_dataset("world/facts", limit=120), {"comprehensiveness_flips": {"removal": "delete"}}
    methods = ["random_interaction", "random_span", GoldSpans()]
    run = evaluate(load_model("world/facts"), data, methods, [deleted], out=tmp_path, progress=False)
    gold = mean(run, "GoldSpans", "comprehensiveness_flips(removal=delete)")
    for random in ("random", "random_interaction", "random_span(like=GoldSpans)"):
        assert gold > mean(run, random, "comprehensiveness_flips(removal=delete)") + 0.05
    assert next(row for row in run.study("leaderboard").records() if row["method"] == "GoldSpans")["p"] < 0.05


def test_each_base_has_the_budget_of_its_spans(run: Run) -> None:
    """And what has no base, the mean over those that are not random, rounded."""
    spans = [str(from_config("methods", given, 0).label) for given in (SPANS, ATTENTION_SPANS)]
    highlights = {(h.instance_id, h.method): h for h in run.highlights()}
    by_base = {
        spans[0]: ["kernel_shap(budget=200)", "bivariate_shapley(budget=200)", spans[0]],
        spans[1]: ["attention", "attention_interaction", spans[1]],
    }
    checked = 0
    for score in run.score_rows():
        if score.metric != "comprehensiveness_flips" or score.value is None:
            continue
        measured = score.method.removeprefix("random_span(like=").removesuffix(")") if "like" in score.method else ""
        own = [label for label, methods in by_base.items() if score.method in methods or label == measured]
        own = own or ["GoldSpans"] * (measured == "GoldSpans")
        own = own or (["GoldSpans"] if score.method == "GoldSpans" else [*spans, "GoldSpans"])
        budget = budget_of([highlights[score.instance_id, label] for label in own])
        assert score.series["words"] == tuple(float(budget.at(k)) for k in (1, 2, 3)), score.method
        checked += 1
    assert checked > N * 10


def test_random_spans_are_as_many_and_as_long_as_those_they_are_matched_to(run: Run) -> None:
    made = {(h.instance_id, h.method): h for h in run.highlights()}
    matched = [(name, method) for name, method in made if method.startswith("random_span")]
    assert len(matched) == 3 * N
    moved = 0
    for instance, method in matched:
        like = method.removeprefix("random_span(like=").removesuffix(")")
        random, own = made[instance, method], made[instance, like]
        lengths = [sorted([(s.part, s.end - s.start) for s in pair] for pair in one.units) for one in (random, own)]
        assert lengths[0] == lengths[1]
        assert budget_of([random]).words[-1] == budget_of([own]).words[-1]
        moved += random.units != own.units
    assert moved > 2 * N


def test_the_leaderboard_and_the_unified_tables_agree_in_every_sign(run: Run) -> None:
    result, boards = run.study("unified"), boards_of(run)
    compared = 0
    for one in result.runs[0].properties:
        rows = {row.method: row for row in boards[one.metric].standings}
        for entry in one.entries:
            if entry.difference is not None:
                row = rows[entry.method]
                gap = row.mean.value - row.baseline_mean if row.mean and row.baseline_mean is not None else None
                assert entry.difference.value == pytest.approx(gap, abs=1e-6), (one.name, entry.method)
                assert (entry.p, entry.better, entry.worse) == (row.p, row.better, row.worse)
                compared += 1
    assert compared > 30


def test_agreement_at_the_budget_is_below_what_so_few_words_can_reach(run: Run) -> None:
    within = [s for s in run.score_rows() if s.metric == "agreement(within=budget)" and s.value is not None]
    assert within
    most = [score.series["maximum"][0] for score in within]
    assert all(0 <= score.value <= limit + 1e-12 for score, limit in zip(within, most, strict=True) if score.value)
    gold = {one.id: len(one.annotated) for one in load_dataset("world/nli", limit=N).instances}
    words = {(s.method, s.instance_id): s.series["words"][2] for s in run.score_rows() if "words" in s.series}
    for score, limit in zip(within, most, strict=True):
        assert limit == pytest.approx(min(1.0, words[score.method, score.instance_id] / gold[score.instance_id]))
    assert min(most) < 1 < len(set(most))


def test_what_is_there_is_not_computed_again_and_later_metrics_find_their_spans(run: Run) -> None:
    """A metric that is added afterwards takes its budget from the span explanations in the store."""
    more = [*METRICS, {"sufficiency_flips": {"budget": "shared"}}]
    data, model = load_dataset("world/nli", limit=N), load_model("world/nli")
    again = evaluate(model, data, [*METHODS, GoldSpans()], more, out=run.folder, progress=False)
    label = "sufficiency_flips(budget=shared)"
    shared = {(s.method, s.instance_id): s for s in again.score_rows() if s.metric == label}
    assert len(shared) == N * 13
    for instance in data.instances:
        budgets = {shared[e["label"], instance.id].series["words"] for e in again.tables.card["methods"]}
        assert len(budgets) == 1  # the same for every method


def test_a_method_that_comes_later_finds_the_spans_of_its_budget(tmp_path: Path) -> None:
    """Though nothing is left to measure of the span explanation itself."""
    data, model = load_dataset("world/nli", limit=2), load_model("world/nli")
    metrics = ["sufficiency_flips"]
    evaluate(model, data, [ATTENTION_SPANS], metrics, out=tmp_path, progress=False)
    run = evaluate(model, data, [ATTENTION_SPANS, "saliency"], metrics, out=tmp_path, progress=False)
    label = from_config("methods", ATTENTION_SPANS, 0).label
    words = {(score.method, score.instance_id): score.series["words"] for score in run.score_rows()}
    assert all(words["saliency", one.id] == words[label, one.id] for one in data.instances)


def test_whose_span_pairs_count() -> None:
    names: list[Any] = ["random", "kernel_shap", "saliency", "louvain", {"louvain": {"over": "attention_interaction"}}]
    like = {"random_span": {"like": {"louvain": {"over": "attention_interaction"}}}}
    components = [from_config("methods", given, 0) for given in [*names, like, "random_span"]]
    methods = [
        ExplanationSource(one.label, one.component.kind, getattr(one.component, "base", None), one)
        for one in components
    ]
    shapley, attention = "louvain", "louvain(over=attention_interaction)"
    assert span_labels(methods, "kernel_shap", "base") == (shapley,)
    assert span_labels(methods, attention, "base") == (attention,)
    assert span_labels(methods, "saliency", "base") == (shapley, attention)
    assert span_labels(methods, "random_span", "base") == (shapley, attention)
    assert span_labels(methods, f"random_span(like={attention})", "base") == (attention,)
    assert span_labels(methods, "made elsewhere", "base") == (shapley, attention)
    assert span_labels(methods, "kernel_shap", "shared") == (shapley, attention)
    mine = [*methods, ExplanationSource("mine", "span_interaction")]
    assert span_labels(mine, "mine", "base") == ("mine",)
    assert span_labels(mine, "saliency", "base") == (shapley, attention, "mine")
    only_random = [methods[0], methods[-1]]
    assert span_labels(only_random, "random", "base") == ("random_span",)


def test_a_budget_needs_span_pairs(tmp_path: Path) -> None:
    data, model = load_dataset("world/nli", limit=2), load_model("world/nli")
    with pytest.raises(UserError, match=r"sufficiency_flips takes its budget of words from span pairs.*add louvain"):
        evaluate(model, data, ["saliency"], ["sufficiency_flips"], out=tmp_path, progress=False)
    fixed = {"sufficiency_flips": {"words": [1, 3]}}
    assert evaluate(model, data, ["saliency"], [fixed], out=tmp_path, progress=False).scores


def test_one_part_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    data, model = load_dataset("world/opinion", limit=2), load_model("world/opinion")
    for method in ("bivariate_shapley", "louvain", "random_span"):
        with pytest.raises(UserError, match="pairs the words of two parts, and the inputs of world/opinion have 1"):
            evaluate(model, data, [method], ["agreement"], out=tmp_path, progress=False)
    within = {"parts": "within", "budget": 100}
    methods: list[Any] = [{"louvain": {"over": {"bivariate_shapley": within}}}, {"random_span": {"parts": "within"}}]
    run = evaluate(model, data, methods, ["comprehensiveness_flips"], out=tmp_path, progress=False)
    # a community whose words are all adjacent has no pair of spans
    assert {score.reason for score in run.score_rows()} <= {None, "no_span_pairs", "no_budget"}
    assert sum(score.value is not None for score in run.score_rows()) >= 3


def test_a_part_that_is_not_explained_is_not_paired(tmp_path: Path) -> None:
    data, model = load_dataset("world/nli", limit=2), load_model("world/nli")
    with pytest.raises(UserError, match=r"data\.explain: maskable leaves one of them out"):
        evaluate(model, data, ["louvain"], ["agreement"], explain="maskable", out=tmp_path, progress=False)


def test_pairs_made_elsewhere_are_measured_and_set_their_own_budget(tmp_path: Path) -> None:
    data, model = load_dataset("world/nli", limit=3), load_model("world/nli")
    lines = []
    for instance in data.instances:
        assert instance.human is not None
        gold = instance.human.span_pairs or ()
        pairs = [{"spans": [list(a), list(b)], "score": 1.0 / (n + 1)} for n, (a, b) in enumerate(dict.fromkeys(gold))]
        lines.append(json.dumps({"id": instance.id, "method": "people", "pairs": pairs}))
    (tmp_path / "people.jsonl").write_text("\n".join(lines))
    metrics: list[Any] = [{"agreement": {"level": "interaction"}}, "comprehensiveness_flips"]
    files = [tmp_path / "people.jsonl"]
    run = evaluate(model, data, [], metrics, explanations=files, out=tmp_path / "run", progress=False)
    assert next(e["kind"] for e in run.tables.card["methods"] if e["label"] == "people") == "span_interaction"
    assert mean(run, "people", "agreement(level=interaction)") == 1.0
    budgets = {h.instance_id: budget_of([h]) for h in run.highlights() if h.method == "people"}
    for score in run.score_rows():
        if score.metric == "comprehensiveness_flips":
            assert score.series["words"][2] == budgets[score.instance_id].at(3)  # random is matched to it
    (tmp_path / "people.jsonl").write_text("\n".join(lines).replace("1.0", "0.75"))
    again = evaluate(model, data, [], metrics, explanations=files, out=tmp_path / "run", progress=False)
    assert {h.scores[0] for h in again.highlights() if h.method == "people"} == {0.75}


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([], "expected at least one pair"),
        ([{"spans": [[0, 0, 1]], "score": 1}], "pair 0: expected two spans"),
        ([{"spans": [[0, 0, 1], [1, 0, 99]], "score": 1}], r"\[0, 99\] is outside the"),
        ([{"spans": [[0, 0, 1], [2, 0, 1]], "score": 1}], "part 2 is out of range for 2 parts"),
        ([{"spans": [[0, 0, 1], [1, 0, 1]], "score": "high"}], "expected a number"),
        ([{"spans": [[0, 0, 1], [1, 0, 1]], "scores": 1}], "unknown field 'scores'; did you mean 'score'"),
        ([{"spans": [[0, 0, 1], [1, 0, 1]], "score": 1}] * 2, "pair 1 is a duplicate"),
        ([3], "pair 0: expected an object"),
        ([{"spans": [[0, 0, 1], [0, 0, 1]], "score": 1}], "is paired with itself"),
        ([{"spans": [[0, 0, 1], [1, 0, 1]]}], "pair 0 has no score"),
        ([{"spans": [[0, 0, 1], [1, 0, 1]], "score": 1, "words": ["no", "such"]}], "its spans cover"),
    ],
)
def test_pairs_that_are_none(pairs: list[Any], told: str, tmp_path: Path) -> None:
    data = load_dataset("world/nli", limit=1)
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"id": data.instances[0].id, "method": "mine", "pairs": pairs}))
    with pytest.raises(UserError, match=told):
        load_explanations(path, data)
    both = {"id": data.instances[0].id, "method": "mine", "pairs": pairs, "scores": [[1], [1]]}
    path.write_text(json.dumps(both))
    with pytest.raises(UserError, match="expected exactly one of scores"):
        load_explanations(path, data)
