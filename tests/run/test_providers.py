"""Providers: one that comes with a plug-in, deferred or not; products of a run; what executors hand over."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.parallel_data import parallel_data
from support.plug_ins import InstallPlugIn
from verax import Dataset, Instance, check_metric, evaluate
from verax.models.classifier import Classifier
from verax.run import execute_run as driver
from verax.run.execute import Execution, KeyedRow, Shard
from verax.run.executors import InlineExecutor
from verax.store.read import read_rows
from verax.types import UserError

PLUG_IN = '''
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from verax.run.providers import Part, Provider, Request, Stage
from verax.types import Highlight, Measured, Passes, Undefined

WORDS = {"boat": 1.0, "lake": 2.0}


class Lexicon(Provider):
    """Words that matter."""

    prepared = 0

    def key(self, metric):
        return dict(WORDS)

    def prepare(self, engine, console):
        Lexicon.prepared += 1

    def provide(self, request: Request) -> Mapping[str, float]:
        if not any(part.words for part in request.x.instance.parts):
            raise Undefined("no_words", "it has no word")
        return WORDS

    @classmethod
    def example(cls, metric, subjects):
        return lambda x, highlight: WORDS


class Largest(Provider):
    """The largest score of each explainer over all instances."""

    deferred: ClassVar[bool] = True

    def after(self, stage: Stage):
        self.largest = {}
        for planned, rows in stage.read(lambda planned: [one.key for one in planned.explanations]):
            for explanation in planned.explanations:
                row = rows[explanation.key]
                if isinstance(row, Highlight):
                    known = self.largest.get(explanation.label, 0.0)
                    self.largest[explanation.label] = max(known, *map(abs, row.scores))
        return ()

    def provide(self, request: Request) -> float:
        return self.largest[request.explanation.label]

    @classmethod
    def example(cls, metric, subjects):
        return lambda x, highlight: 1.0


@dataclass(frozen=True)
class LexiconShare:
    """Score of the words of a lexicon, by the largest score of the explainer."""

    name: ClassVar[str] = "lexicon_share"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "a test"
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (None, None)
    needs: ClassVar[frozenset[str]] = frozenset({"lexicon", "largest"})
    providers: ClassVar[Mapping[str, type[Provider]]] = {"lexicon": Lexicon, "largest": Largest}

    def passes(self, n: int) -> Passes:
        return Passes(0, 0)

    def __call__(self, x, highlight, *, lexicon, largest) -> Measured:
        words = {unit[0]: score for unit, score in zip(highlight.units, highlight.scores) if len(unit) == 1}
        named = {span: x.instance.parts[span.part].words[span.start] for span in words}
        return Measured(sum(words[span] * lexicon.get(word, 0.0) for span, word in named.items()) / (largest or 1.0))
'''


@pytest.fixture
def plug_in(tmp_path: Path, install_plug_in: InstallPlugIn) -> Iterator[Any]:
    """A package with a metric and two providers of its own."""
    (tmp_path / "lexicon_plug_in.py").write_text(PLUG_IN)
    install_plug_in("lexicon", {"verax.metrics": {"lexicon_share": "lexicon_plug_in:LexiconShare"}})
    yield importlib.import_module("lexicon_plug_in")
    sys.modules.pop("lexicon_plug_in", None)


@pytest.fixture
def pairs(instances: list[Instance]) -> Dataset:
    return Dataset("pairs", tuple(instances), ("yes", "maybe", "no"))


def test_a_plug_in_metric_brings_its_own_providers(
    plug_in: Any, classifier: Callable[..., Classifier], pairs: Dataset, tmp_path: Path
) -> None:
    def run(name: str = "run", *more: str) -> dict[tuple[str, str], float | None]:
        found = evaluate(
            classifier("bert"),
            pairs,
            ["leave_one_out"],
            ["lexicon_share", *more],
            out=tmp_path / name,
            progress=False,
        )
        assert found.tables.card["counts"]["failed"] == 0
        highlights = {(row.instance_id, row.method): row for row in found.highlights()}
        largest = {
            method: max(max(map(abs, row.scores)) for row in highlights.values() if row.method == method)
            for method in ("random", "leave_one_out")
        }
        for score in found.score_rows():
            if score.metric == "lexicon_share":
                row = highlights[score.instance_id, score.method]
                instance = next(one for one in pairs.instances if one.id == score.instance_id)
                words = [instance.parts[unit[0].part].words[unit[0].start] for unit in row.units]
                total = sum(s * plug_in.WORDS.get(word, 0.0) for word, s in zip(words, row.scores, strict=True))
                assert score.value == pytest.approx(total / largest[score.method], abs=1e-12)
        return {
            (score.instance_id, score.method): score.value
            for score in found.score_rows()
            if score.metric == "lexicon_share"
        }

    first = run()
    assert len(first) == 2 * len(pairs)
    assert plug_in.Lexicon.prepared == 1
    keys = {key for key, _ in read_rows(tmp_path / "run")}
    assert run() == first
    assert plug_in.Lexicon.prepared == 1, "nothing is missing, so nothing is prepared"
    assert {key for key, _ in read_rows(tmp_path / "run")} == keys
    plug_in.WORDS["boat"] = 5.0
    changed = run()
    assert changed != first
    assert len({key for key, _ in read_rows(tmp_path / "run")} - keys) == len(first), (
        "the key of a provider is part of the score's"
    )
    run("run", "complexity")


def test_a_plug_in_metric_with_providers_can_be_checked(plug_in: Any) -> None:
    checked = check_metric("lexicon_share")
    assert checked.ok, str(checked)


def test_an_unknown_provider_is_refused(plug_in: Any, classifier: Callable[..., Classifier], pairs: Dataset) -> None:
    class Lost(plug_in.LexiconShare):  # type: ignore[name-defined, misc]
        needs = frozenset({"lexikon"})

    with pytest.raises(UserError, match=r"Lost needs 'lexikon', and there is no such provider"):
        evaluate(classifier("bert"), pairs, [], [Lost()], progress=False)


def test_alignments_can_be_requested_without_a_metric(classifier: Callable[..., Classifier], tmp_path: Path) -> None:
    """The same rows, by the same keys, as a metric that needs them leaves."""
    model, data = classifier("bert", "float32"), parallel_data(3)
    product = {"alignment": {"aligner": "given"}}
    metric = {"crosslingual_faithfulness": {"aligner": "given"}}

    def aligned(out: str, **given: Any) -> list[Any]:
        run = evaluate(model, data, **given, out=tmp_path / out, progress=False)
        assert run.problems == ()
        return run.alignments()

    requested = aligned("product", methods=["saliency"], metrics=[], products=[product])
    assert len(requested) == 3
    assert requested == aligned("metric", methods=["saliency"], metrics=[metric])
    both = aligned("both", methods=["saliency"], metrics=[metric], products=[product])
    assert requested == both, "each is there once"
    keys = [{key for key, _ in read_rows(tmp_path / out)} for out in ("product", "metric")]
    assert keys[0] < keys[1]


@pytest.mark.parametrize(
    ("product", "message"),
    [
        ("budget", "products: got 'budget'; alignment can be requested"),
        ("alignmnt", "products: got 'alignmnt'"),
        ({"alignment": {"aligner": "givn"}}, "unknown aligner 'givn'"),
        ({"alignment": {"lang": "en"}}, "alignment: unknown parameter 'lang'"),
        ({"alignment": {"reference_lang": "fr"}}, "alignment: reference_lang: got 'fr'"),
    ],
)
def test_a_product_that_makes_no_sense_is_refused(
    product: Any, message: str, classifier: Callable[..., Classifier], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        evaluate(classifier("bert", "float32"), parallel_data(2), [], [], products=[product], out=tmp_path / "run")


def test_rows_do_not_depend_on_the_executor(
    classifier: Callable[..., Classifier], pairs: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shards last to first, each on its own, and rows in another order: the driver stores the same."""

    class Backwards:
        def __init__(self, execution: Execution) -> None:
            self._inner = InlineExecutor(execution)

        def map(self, shards: Iterable[Shard]) -> Iterator[KeyedRow]:
            for shard in list(shards)[::-1]:
                yield from list(self._inner.map([shard]))[::-1]

    def run(out: str) -> list[Any]:
        methods = ["leave_one_out", {"louvain": {"over": "attention_interaction"}}]
        metrics = ["comprehensiveness", "comprehensiveness_flips"]
        found = evaluate(classifier("bert"), pairs, methods, metrics, out=tmp_path / out, progress=False)
        scores = [(row.instance_id, row.method, row.metric, round(row.value or 0, 9)) for row in found.score_rows()]
        return [scores, [(row.instance_id, row.method) for row in found.highlights()]]

    plain = run("plain")
    monkeypatch.setattr(driver, "SHARD", 2)
    monkeypatch.setattr(driver, "InlineExecutor", Backwards)
    assert run("backwards") == plain
