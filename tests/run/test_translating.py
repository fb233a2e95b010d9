"""Scores across languages in a run: who is compared with whom, nothing done twice, refused where it makes no sense."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verax
from support.parallel_data import parallel_data
from verax.data.text import split_words
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.models.words import FORM_FEATURES
from verax.store.store import Store
from verax.types import Dataset, GivenAlignment, Highlight, Instance, UserError

GIVEN = {"crosslingual_faithfulness": {"aligner": "given"}}


METHODS = 2 + len(FORM_FEATURES)
"""Saliency, and what every run has: random and content-free scores."""


@pytest.fixture
def model(classifier: Callable[..., Classifier]) -> Classifier:
    return classifier("bert", "float32")


def _run(model: Classifier, data: Dataset, out: Path, *metrics: Any) -> verax.Run:
    return verax.evaluate(model, data, methods=["saliency"], metrics=list(metrics), out=out)


def _summary(run: verax.Run, method: str) -> dict[str, Any]:
    """The line of a method on the leaderboard."""
    return next(row for row in run.study("leaderboard").records() if row["method"] == method)


def test_translations_are_scored_and_references_are_not(model: Classifier, tmp_path: Path) -> None:
    run = _run(model, parallel_data(langs=("en", "xx", "yy")), tmp_path / "run", GIVEN)
    assert {score.instance_id.split("/")[1] for score in run.score_rows()} == {"xx", "yy"}
    assert len(run.score_rows()) == METHODS * 2 * 6
    assert {(a.instance_id, a.reference_id) for a in run.alignments()} == {
        (f"{n}/{lang}", f"{n}/en") for n in range(6) for lang in ("xx", "yy")
    }
    first = run.alignments()[0]
    assert first.links[:6] == tuple((i, 5 - i) for i in range(6))
    assert first.links[6:] == tuple((6 + i, 9 - i) for i in range(4))


def test_the_value_is_that_of_the_two_stored_explanations(model: Classifier, tmp_path: Path) -> None:
    from scipy.stats import spearmanr

    run = _run(model, parallel_data(), tmp_path / "run", GIVEN)
    rows = {(row.instance_id, row.method): row for row in run.highlights()}
    for score in (score for score in run.score_rows() if score.reason != "constant_scores"):
        own, reference = rows[score.instance_id, score.method], rows[score.instance_id[:-2] + "en", score.method]
        turned = [*own.scores[:6][::-1], *own.scores[6:][::-1]]
        assert score.value == pytest.approx(spearmanr(reference.scores, turned).statistic, abs=1e-12)


def test_values_do_not_depend_on_how_many_stored_rows_are_read_at_a_time(
    model: Classifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Counter[str] = Counter()
    rows = Store.rows

    def counted(self: Store, wanted: Any = None) -> Any:
        for key, row in rows(self, wanted):
            read[key] += isinstance(row, Highlight)
            yield key, row

    monkeypatch.setattr(Store, "rows", counted)
    found = []
    for most in (1, 7, 20_000):
        monkeypatch.setattr("verax.run.execute_run.MOST_READ", most)
        read.clear()
        run = _run(model, parallel_data(), tmp_path / str(most), GIVEN)
        found.append({(score.instance_id, score.method): score.value for score in run.score_rows()})
        assert sum(read.values()) == METHODS * 6 * 2, "of six pairs both sides, once each"
    assert found[0] == found[1] == found[2]


def test_translations_of_one_input_count_once_on_the_leaderboard(model: Classifier, tmp_path: Path) -> None:
    run = _run(model, parallel_data(langs=("en", "xx", "yy")), tmp_path / "run", GIVEN)
    row = _summary(run, "saliency")
    values = [score.value for score in run.score_rows() if score.method == "saliency"]
    assert row["n"] == 6
    assert row["mean"] == pytest.approx(np.mean([value for value in values if value is not None]), abs=1e-12)


def test_parts_can_be_aligned_as_one(model: Classifier, tmp_path: Path) -> None:
    joint = {"crosslingual_faithfulness": {"aligner": "given", "align_parts": "joint"}}
    run = _run(model, parallel_data(2), tmp_path / "run", GIVEN, joint)
    by_metric: dict[str, list[float | None]] = {}
    for score in run.score_rows():
        by_metric.setdefault(score.metric, []).append(score.value)
    apart, together = by_metric.values()
    assert apart == together  # given links never cross parts, so only their counting could go wrong
    assert {one.aligner for one in run.alignments()} == {"given", "given, parts joint"}


def test_parts_aligned_as_one_may_be_linked_across(model: Classifier, tmp_path: Path) -> None:
    joint = {"crosslingual_faithfulness": {"aligner": "random", "align_parts": "joint"}}
    run = _run(model, parallel_data(4), tmp_path / "run", joint)
    assert any((a < 6) != (b < 6) for one in run.alignments() for a, b in one.links)
    assert all(a < 10 and b < 10 for one in run.alignments() for a, b in one.links)


def test_another_alignment_in_the_data_is_another_score(model: Classifier, tmp_path: Path) -> None:
    data = parallel_data(3)
    before = {(s.instance_id, s.method): s.value for s in _run(model, data, tmp_path / "run", GIVEN).score_rows()}
    crooked = (GivenAlignment("en", (((0, 0), (1, 1), (2, 2)), ((0, 0),))),)
    again = _run(model, dataclasses.replace(data, aligned={**data.aligned, "1/xx": crooked}), tmp_path / "run", GIVEN)
    after = {(s.instance_id, s.method): s.value for s in again.score_rows()}
    changed = {where for where in after if after[where] != before[where]}
    assert changed
    assert {instance for instance, _ in changed} == {"1/xx"}


def test_a_second_run_does_nothing_anew(model: Classifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _run(model, parallel_data(3), tmp_path / "run", GIVEN, "crosslingual_faithfulness")
    calls: list[int] = []
    told = type(model).token_states

    def counted(self: Any, passes: Any) -> Any:
        calls.append(1)
        return told(self, passes)

    monkeypatch.setattr(type(model), "token_states", counted)
    second = _run(model, parallel_data(3), tmp_path / "run", GIVEN, "crosslingual_faithfulness")
    assert second.score_rows() == first.score_rows()
    assert second.alignments() == first.alignments()
    assert calls == []


def test_killed_while_aligning_and_scoring_it_ends_as_if_nothing_had_been(
    checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    """Kill -9 while it aligns and while it scores; each row is there once, as undisturbed."""
    program = str(Path(__file__).with_name("dying_aligner.py"))
    folder = tmp_path / "killed"
    command = [sys.executable, program, str(checkpoint("bert")), str(folder), json.dumps([4, 7])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=environment)
    assert child.returncode == 0, child.stderr
    assert json.loads(child.stdout) == [signal.SIGKILL] * 2 + [0], child.stderr
    whole = _run(load_model(checkpoint("bert")), parallel_data(6), tmp_path / "whole", "crosslingual_faithfulness")
    found = verax.open_run(folder)
    assert found.problems == ()
    assert found.alignments() == whole.alignments()
    assert found.score_rows() == whole.score_rows()


def test_an_input_without_translation_is_skipped_with_its_reason(model: Classifier, tmp_path: Path) -> None:
    data = parallel_data(3)
    lonely = tuple(one for one in data.instances if one.id != "1/en")
    run = _run(model, dataclasses.replace(data, instances=lonely), tmp_path / "run", GIVEN)
    reasons = {score.instance_id: score.reason for score in run.score_rows() if score.method == "saliency"}
    assert reasons == {"0/xx": None, "1/xx": "no_reference", "2/xx": None}


def test_constant_scores_are_skipped_and_counted(model: Classifier, tmp_path: Path) -> None:
    data = parallel_data(4)
    given = tmp_path / "given.jsonl"
    lines = []
    for instance in data.instances:
        scores = [1.0] * 10 if instance.id == "2/xx" else list(range(10))
        rows = [scores[:6], scores[6:]]
        lines.append(f'{{"id": "{instance.id}", "method": "ours", "scores": {rows}}}\n')
    given.write_text("".join(lines))
    run = verax.evaluate(model, data, methods=[], metrics=[GIVEN], explanations=[given], out=tmp_path / "run")
    ours = {score.instance_id: score for score in run.score_rows() if score.method == "ours"}
    assert ours["2/xx"].reason == "constant_scores"
    # 0 to 9 against 5 4 3 2 1 0 9 8 7 6: the squared differences of the ranks are 90 in all
    assert ours["0/xx"].value == pytest.approx(1 - 6 * 90 / (10 * 99), abs=1e-12)
    row = _summary(run, "ours")
    assert (row["n"], row["skipped"]) == (3, 1)


@pytest.mark.parametrize(
    ("change", "metric", "message"),
    [
        ({"langs": ("en",)}, GIVEN, "all inputs of parallel are in 'en'"),
        ({}, {"crosslingual_faithfulness": {"reference_lang": "fr"}}, "reference_lang: got 'fr'.* in en, xx"),
        ({"aligned": {}}, GIVEN, "parallel has none.*use embedding"),
        ({"parallel_id": None}, GIVEN, "columns: {parallel_id: ...}"),
        ({}, {"crosslingual_faithfulness": {"aligner": "embeding"}}, "unknown aligner 'embeding'.*embedding"),
        ({}, {"crosslingual_faithfulness": {"aligner": {"random": {"sed": 1}}}}, "unknown parameter 'sed'.*seed"),
    ],
)
def test_what_makes_no_sense_is_refused(
    change: dict[str, Any], metric: Any, message: str, model: Classifier, tmp_path: Path
) -> None:
    data = parallel_data(2, change.get("langs", ("en", "xx")))
    if "aligned" in change:
        data = dataclasses.replace(data, aligned={})
    if "parallel_id" in change:
        data = dataclasses.replace(
            data, instances=tuple(dataclasses.replace(one, parallel_id=None) for one in data.instances)
        )
    with pytest.raises(UserError, match=message):
        _run(model, data, tmp_path / "run", metric)


@pytest.mark.parametrize(
    ("aligner", "message"),
    [
        ({"embedding": {"layer": 99}}, "layer: expected at most"),
        ("eflomal", "command eflomal-align not found"),
        ({"random": {"seed": -1}}, "seed: expected at least 0, got -1"),
    ],
)
def test_an_aligner_that_cannot_align_is_refused_before_anything_is_explained(
    aligner: Any, message: str, model: Classifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(model), "logits", lambda *_: pytest.fail("the model was asked"))
    with pytest.raises(UserError, match=message):
        _run(model, parallel_data(2), tmp_path / "run", {"crosslingual_faithfulness": {"aligner": aligner}})


def test_alignments_of_words_are_not_taken_for_those_of_sub_words(model: Classifier, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="granularity: token none are available"):
        verax.evaluate(model, parallel_data(2), methods=[], metrics=[GIVEN], granularity="token", out=tmp_path / "run")


def test_what_is_skipped_in_one_language_is_counted(model: Classifier, tmp_path: Path) -> None:
    """Three inputs in two further languages; of one language two have no links: n counts inputs, skipped instances."""
    data = parallel_data(3, ("en", "xx", "yy"))
    bare = {**data.aligned, "0/yy": (), "1/yy": ()}
    run = _run(model, dataclasses.replace(data, aligned=bare), tmp_path / "run", GIVEN)
    row = _summary(run, "saliency")
    assert (row["n"], row["skipped"]) == (3, 2)


def test_who_learns_from_all_pairs_learns_anew_when_there_are_others(
    model: Classifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool of the same name whose links hang on how many pairs it was handed, which it notes."""
    told = tmp_path / "told"
    tool = tmp_path / "bin" / "eflomal-align"
    tool.parent.mkdir()
    tool.write_text(
        f"#!{sys.executable}\nimport sys\ngiven = dict(zip(sys.argv[1::2], sys.argv[2::2]))\n"
        f"n = len(open(given['-s']).readlines())\nopen({str(told)!r}, 'a').write(f'{{n}}\\n')\n"
        "for name in ('-f', '-r'):\n    open(given[name], 'w').write(f'0-0 1-{n // 4}\\n' * n)\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    metric = {"crosslingual_faithfulness": {"aligner": "eflomal"}}
    runs = [_run(model, parallel_data(n), tmp_path / "run", metric) for n in (2, 2, 4)]
    assert told.read_text().split() == ["4", "8"]  # two parts each; nothing the second time, all four the third
    assert [{one.links[1] for one in run.alignments()} for run in runs] == [{(1, 1)}, {(1, 1)}, {(1, 2)}]


def test_parts_that_do_not_match_are_refused(model: Classifier, tmp_path: Path) -> None:
    instances = (
        Instance("1/en", (split_words("a small boat"), split_words("it sails")), "yes", "en", "1"),
        Instance("1/xx", (split_words("ein kleines Boot"),), "yes", "xx", "1"),
    )
    with pytest.raises(UserError, match="'1/en' has 2 parts and its translation '1/xx' 1"):
        _run(model, Dataset("odd", instances, ("yes", "B")), tmp_path / "run", "crosslingual_faithfulness")


def test_the_seed_of_a_random_aligner_is_the_runs(model: Classifier, tmp_path: Path) -> None:
    spec: Any = {"crosslingual_faithfulness": {"aligner": "random"}}
    runs = [
        verax.evaluate(model, parallel_data(3), methods=[], metrics=[spec], seed=seed, out=tmp_path / str(seed))
        for seed in (0, 1)
    ]
    assert {score.metric for run in runs for score in run.score_rows()} == {"crosslingual_faithfulness(aligner=random)"}
    assert [one.links for one in runs[0].alignments()] != [one.links for one in runs[1].alignments()]


def test_content_free_scores_are_in_every_run_and_measured_by_this_metric_alone(
    model: Classifier, tmp_path: Path
) -> None:
    run = _run(model, parallel_data(2), tmp_path, GIVEN, "comprehensiveness")
    measured = {(score.method.partition("(")[0], score.metric) for score in run.score_rows()}
    assert ("content_free", "comprehensiveness") not in measured
    assert ("content_free", "crosslingual_faithfulness(aligner=given)") in measured
    assert ("random", "comprehensiveness") in measured
    features = [entry.parameters["feature"] for entry in run.manifest.methods if entry.name == "content_free"]
    assert features == list(FORM_FEATURES)


def test_content_free_scores_that_are_listed_are_measured_by_every_metric(model: Classifier, tmp_path: Path) -> None:
    methods = [{"content_free": {"feature": "part"}}]
    run = verax.evaluate(model, parallel_data(2), methods=methods, metrics=[GIVEN, "comprehensiveness"], out=tmp_path)
    labels = {score.method for score in run.score_rows() if score.metric == "comprehensiveness"}
    assert labels == {"random", "content_free(feature=part)"}


@pytest.mark.parametrize(
    ("wanted", "langs"),
    [(None, {"en"}), ("all", {"en", "xx", "yy"}), (["xx"], {"xx"})],
)
def test_other_metrics_are_measured_where_they_are_tabulated_unless_requested(
    wanted: Any, langs: set[str], model: Classifier, tmp_path: Path
) -> None:
    options = {} if wanted is None else {"measured_langs": wanted}
    data = parallel_data(2, ("en", "xx", "yy"))
    run = verax.evaluate(model, data, methods=["saliency"], metrics=[GIVEN, "complexity"], out=tmp_path, **options)
    by_metric: dict[str, set[str]] = {}
    for score in run.score_rows():
        by_metric.setdefault(score.metric, set()).add(score.instance_id.split("/")[1])
    assert by_metric["complexity"] == langs
    assert by_metric["crosslingual_faithfulness(aligner=given)"] == {"xx", "yy"}


def test_a_language_without_inputs_cannot_be_measured(model: Classifier, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="measured_langs: unknown language 'fr'"):
        verax.evaluate(model, parallel_data(2), ["saliency"], [GIVEN], out=tmp_path, measured_langs=["fr"])
