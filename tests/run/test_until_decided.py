"""Runs that stop once a ranking is decided: where they stop, how they are continued, and what their pages claim."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from support.cli import CallVerax
from support.runs import make_run, method_entry, metric_entry, run_card
from verax.api import Run, evaluate
from verax.data.text import split_words
from verax.models.classifier import Classifier
from verax.models.subject import Subject
from verax.report.page import render
from verax.run.until_decided import look_sizes
from verax.stats.drawing import rng_of
from verax.stats.joint import joint_test
from verax.stats.sequential import sequential_p
from verax.studies.leaderboard.analysis import contrast, metric_test
from verax.types import Attribution, Dataset, Highlight, Instance, Kind, Measured, Passes, Score, UserError

WORDS = ("boat", "lake", "wind", "bread", "honey", "coat", "market", "shore", "river", "garden")
POOL = 120


@dataclass(frozen=True)
class Shifted:
    """A method whose first word has a random score, shifted by its quality."""

    shift: float
    seed: int = 0

    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "a test"

    def passes(self, n: int) -> Passes:
        return Passes(0, 0)

    def __call__(self, x: Subject) -> Attribution:
        texts = [part.raw for part in x.instance.parts]
        return x.attribution(rng_of(self.seed, texts, repr(self).encode()).normal(self.shift, 1.0, x.n_units))


@dataclass(frozen=True)
class FirstScore:
    """A metric that likes explanations with a high score of the first word."""

    version: ClassVar[int] = 1
    reference: ClassVar[str] = "a test"
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (None, None)

    def passes(self, n: int) -> Passes:
        return Passes(0, 0)

    def __call__(self, x: Subject, highlight: Highlight) -> Measured:
        return Measured(highlight.scores[0])


GOOD, BAD, LIKE_RANDOM = Shifted(3.0), Shifted(-3.0), Shifted(0.51)
"""`random` draws scores between 0 and 1."""


@pytest.fixture
def pool() -> Dataset:
    texts = [f"the {WORDS[i % 10]} and the {WORDS[i // 10 % 10]} {'near ' * (i // 100)}here" for i in range(POOL)]
    instances = tuple(Instance(f"input {i}", (split_words(text),), "yes") for i, text in enumerate(texts))
    return Dataset("many", instances, ("yes", "maybe", "no"))


@pytest.fixture
def run_until(classifier: Callable[..., Classifier], pool: Dataset, tmp_path: Path) -> Callable[..., Run]:
    def run(until_decided: Any = "random", **changes: Any) -> Run:
        given: dict[str, Any] = {"methods": [GOOD, BAD], "metrics": [FirstScore()], "out": tmp_path / "run"}
        given |= {"model": classifier("bert"), "data": pool, **changes}
        return evaluate(**given, until_decided=until_decided, progress=False)

    return run


def rows(run: Run) -> set[tuple[str, ...]]:
    return {(s.instance_id, s.method, str(s.value)) for s in run.score_rows()}


def test_a_run_stops_once_every_method_is_decided_against_random(
    run_until: Callable[..., Run], pool: Dataset, tmp_path: Path
) -> None:
    run = run_until()
    test = run.manifest.until_decided
    assert test is not None
    assert test.settled
    assert test.looks == tuple(look_sizes(POOL))[: len(test.looks)]
    assert test.inputs == len(run.instances) < POOL / 2
    assert test.decided == {"FirstScore": (_label(GOOD), _label(BAD))}
    assert (run.status, run.exit_code) == ("finished", 0)
    assert run.status_line == f"finished (decided after {test.inputs} of at most {POOL} inputs)"
    assert run.instances.ids != [one.id for one in pool.instances[: test.inputs]], "the order is random"
    # the rows are those of a run on the same inputs without any test
    chosen = replace(pool, instances=tuple(one for one in pool.instances if one.id in set(run.instances.ids)))
    assert rows(run) == rows(run_until(None, data=chosen, out=tmp_path / "fixed"))


def _label(method: Shifted) -> str:
    return f"Shifted(shift={method.shift:g})"


def test_a_method_like_random_is_never_decided_and_the_run_ends_at_its_maximum(run_until: Callable[..., Run]) -> None:
    run = run_until({"goal": "random", "max_inputs": 40}, methods=[GOOD, LIKE_RANDOM])
    test = run.manifest.until_decided
    assert test is not None
    assert (test.settled, test.finished, test.inputs) == (False, True, 40)
    assert test.undecided == {"FirstScore": (_label(LIKE_RANDOM),)}
    assert run.status_line == "finished (not decided after 40 of at most 40 inputs)"
    assert run.exit_code == 0


def test_the_best_method_is_decided(run_until: Callable[..., Run]) -> None:
    run = run_until("best", methods=[GOOD, LIKE_RANDOM, BAD])
    test = run.manifest.until_decided
    assert test is not None
    assert test.settled
    assert test.decided == {"FirstScore": (_label(GOOD),)}
    rivals = run_until({"goal": "best", "max_inputs": 40}, methods=[GOOD, Shifted(3.01)], out=run.folder.parent / "b")
    two = rivals.manifest.until_decided
    assert two is not None
    assert two.undecided == {"FirstScore": (_label(GOOD), "Shifted(shift=3.01)")}


class Refusing:
    """A model that must not be asked."""

    def __init__(self, model: Classifier) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def logits(self, rows: Any) -> Any:
        raise AssertionError(f"asked about {len(rows)} rows")


def test_a_stopped_run_that_is_started_again_computes_nothing(
    run_until: Callable[..., Run], classifier: Callable[..., Classifier]
) -> None:
    first = run_until()
    again = run_until(model=Refusing(classifier("bert")))
    assert again.manifest.until_decided == first.manifest.until_decided
    assert rows(again) == rows(first)
    assert again.manifest.counts == first.manifest.counts


def test_a_larger_maximum_continues_in_the_same_order(run_until: Callable[..., Run], tmp_path: Path) -> None:
    short = run_until({"goal": "random", "max_inputs": 30}, methods=[GOOD, LIKE_RANDOM])
    long = run_until({"goal": "random", "max_inputs": 60}, methods=[GOOD, LIKE_RANDOM])
    whole = run_until({"goal": "random", "max_inputs": 60}, methods=[GOOD, LIKE_RANDOM], out=tmp_path / "whole")
    assert long.instances.ids[:30] == short.instances.ids
    assert long.instances.ids == whole.instances.ids
    assert rows(long) == rows(whole)
    looks = [run.manifest.until_decided.looks for run in (short, long, whole) if run.manifest.until_decided]
    assert looks == [(16, 30), (16, 30, 46, 60), (16, 32, 48, 60)]
    tests = [metric_test(run, "FirstScore").test.p for run in (long, whole)]
    np.testing.assert_array_equal(*tests, err_msg="p-values do not depend on when one looked")


def test_another_goal_continues_the_run(run_until: Callable[..., Run]) -> None:
    methods = [Shifted(3.0), Shifted(1.6)]
    first = run_until("random", methods=methods)
    second = run_until("best", methods=methods)
    assert second.manifest.until_decided is not None
    assert second.manifest.until_decided.settled
    assert len(second.instances) >= len(first.instances)
    assert second.instances.ids[: len(first.instances)] == first.instances.ids


@pytest.mark.parametrize("changes", [{"until_decided": None}, {"seed": 1}, {"data": "other"}])
def test_a_stopped_run_is_not_continued_as_another_one(
    run_until: Callable[..., Run], pool: Dataset, changes: dict[str, Any]
) -> None:
    """The p-values of the page would not be valid: results have decided how many inputs there are."""
    run = run_until()
    if "data" in changes:
        changes = {"data": replace(pool, instances=pool.instances[:100])}
    with pytest.raises(UserError, match=r"holds a run until decided.*--max-inputs"):
        run_until(**changes)
    assert Run(run.folder).exit_code == 0, "and it is as it was"


def test_an_interrupted_run_is_not_finished_and_ends_like_any_other(
    run_until: Callable[..., Run], classifier: Callable[..., Classifier], tmp_path: Path
) -> None:
    class Interrupted(Refusing):
        """Answers as often as the first look asks."""

        left = 16

        def logits(self, rows: Any) -> Any:
            self.left -= len(rows)
            if self.left < 0:
                raise KeyboardInterrupt
            return self._model.logits(rows)

    slow = {"methods": [Shifted(1.4)]}
    with pytest.raises(KeyboardInterrupt):
        run_until(model=Interrupted(classifier("bert")), **slow)
    interrupted = Run(tmp_path / "run")
    assert interrupted.manifest.until_decided is not None
    assert interrupted.manifest.until_decided.looks == (16,)
    assert (interrupted.status, interrupted.exit_code) == ("unfinished", 3)
    assert rows(run_until(**slow)) == rows(run_until(**slow, out=tmp_path / "whole"))


def test_a_run_that_was_ended_between_two_looks_is_not_finished(tmp_path: Path) -> None:
    scores = [Score(f"{i}", "random", "FirstScore", 0.5) for i in range(16)]
    card = run_card([method_entry("random")], [metric_entry("FirstScore")])
    test = {"goal": "random", "max_inputs": 100, "looks": [16], "undecided": {"FirstScore": ["m"]}}
    run = make_run(tmp_path / "run", card={**card, "until_decided": test}, scores=scores)
    assert (run.status, run.exit_code) == ("unfinished", 3)
    assert any("not decided after 16 of at most 100 inputs; start the same" in line for line in run.problems)


def test_everything_that_a_page_concludes_comes_from_the_sequential_test(
    run_until: Callable[..., Run], call_verax: CallVerax
) -> None:
    run = run_until(methods=[GOOD, BAD, Shifted(1.3)])
    values = metric_test(run, "FirstScore").values
    expected, fixed = joint_test(values, sequential=True), joint_test(values)
    (board,) = run.study("leaderboard").runs[0].boards.values()
    methods = metric_test(run, "FirstScore").methods
    assert {one.method: one.p for one in board.standings if one.p is not None} == {
        method: expected.p[i, 0] for i, method in enumerate(methods) if i
    }
    weakest = methods.index("Shifted(shift=1.3)")
    assert fixed.p[weakest, 0] < expected.p[weakest, 0] < 0.05
    page = render(run)
    shown = call_verax("show", run.folder, "--format", "terminal").out
    told = f"decided after {len(run.instances)} of at most {POOL} inputs"
    for text in (page, shown):
        assert told in " ".join(text.split())
        assert "come from a sequential test" in " ".join(text.split())
        assert "sign flips" not in text
        assert "sequential p against random" in " ".join(text.split())
    assert "as if their number had been fixed" in page
    assert "Until decided" in page
    for other in ("latex", "markdown"):
        assert "sequential test of a run until decided" in call_verax("show", run.folder, "--format", other).out
    notes = json.loads(call_verax("show", run.folder, "--format", "json").out)
    assert "sequential" in json.dumps(notes)


def test_two_runs_are_compared_by_a_sequential_test_in_the_order_of_the_stopped_one(
    run_until: Callable[..., Run], tmp_path: Path
) -> None:
    stopped = run_until()
    fixed = run_until(None, seed=3, out=tmp_path / "fixed")
    other = run_until(seed=5, out=tmp_path / "other")
    (one, *_) = contrast(fixed, stopped)
    assert one.n == len(stopped.instances)
    columns = [run.scores.by_instance("FirstScore", one.method.labels[0] or "") for run in (fixed, stopped)]
    differences = np.array([[columns[1][name] - columns[0][name]] for name in stopped.instances.ids])  # type: ignore[operator]
    family = [c.p for c in contrast(fixed, stopped)]
    assert len(family) == 3
    assert one.p is not None
    assert 0 < sequential_p(differences)[0] <= one.p
    with pytest.raises(UserError, match="different orders"):
        contrast(stopped, other)


def test_translations_of_an_input_stay_together(run_until: Callable[..., Run], pool: Dataset) -> None:
    pairs = [
        replace(one, id=f"{one.id} {lang}", parallel_id=one.id, lang=lang)
        for lang in ("en", "de")
        for one in pool.instances[:60]
    ]
    run = run_until({"goal": "random", "max_inputs": 40}, data=replace(pool, instances=tuple(pairs)))
    test = run.manifest.until_decided
    assert test is not None
    assert len(run.instances) == 2 * test.inputs
    assert run.instances.parallel_ids[::2] == run.instances.parallel_ids[1::2]
    assert len(metric_test(run, "FirstScore").values) == test.inputs


@pytest.mark.parametrize(
    ("until", "changes", "message"),
    [
        ("worst", {}, "until_decided.goal: .*'random' or 'best'"),
        ({"goal": "best", "metrics": ["FistScore"]}, {}, "did you mean 'FirstScore'"),
        ({"goal": "best", "max_inputs": 0}, {}, "max_inputs"),
        ({"max_inputs": 5}, {}, "until_decided.goal"),
        ("random", {"metrics": ["in_distribution"], "validation": "pool"}, "no metric of the run ranks"),
        (
            "random",
            {"metrics": ["simulatability"], "methods": ["louvain"], "data": "pairs"},
            "simulatability depend on all inputs",
        ),
    ],
)
def test_invalid_requests_are_rejected(
    run_until: Callable[..., Run], pool: Dataset, until: Any, changes: dict[str, Any], message: str
) -> None:
    pairs = replace(pool, instances=tuple(replace(one, parts=one.parts * 2) for one in pool.instances))
    changes = {**changes, **{name: pairs for name in ("validation", "data") if name in changes}}
    with pytest.raises(UserError, match=message):
        run_until(until, **changes)


def test_on_the_command_line(call_verax: CallVerax, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "model: world/nli\ndata: {name: world/nli, split: test, limit: 40}\nmethods: [saliency]\n"
        "metrics: [comprehensiveness]\nuntil_decided: best\n"
    )
    command = ("run", spec, "--out", tmp_path / "run", "--until-decided", "random", "--max-inputs", "20")
    dry = call_verax(*command, "--dry-run")
    assert "20 instances" in dry.err
    assert "until decided (random), so this is the most" in dry.err
    done = call_verax(*command)
    assert done.code == 0
    run = Run(tmp_path / "run")
    assert run.manifest.spec["until_decided"] == {"goal": "random", "metrics": None, "max_inputs": 20}
    assert "--until-decided random --max-inputs 20" in run.manifest.command
    assert run.manifest.until_decided is not None
    assert run.manifest.until_decided.max_inputs == 20
    assert "of at most 20 inputs" in done.out
