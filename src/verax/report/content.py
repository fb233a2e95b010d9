"""A stored run laid out for the sections of the report, each of which takes it and returns HTML."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verax.stats import summarise
from verax.stats.areas import masked_runs, masking_curves
from verax.stats.crosslingual import CrossLingual, crosslingual
from verax.stats.crosslingual_rows import LanguageRun
from verax.stats.nle import NleTables, nle_tables
from verax.stats.nle_rows import NleRun, setups
from verax.stats.recorded import baselines, parallel
from verax.stats.unified import Unified, unified
from verax.store.read import Stored
from verax.types import Alignment, Highlight, Instance, MaskingCurves, Nle, Prediction, Score, Skip, Summary

NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class Content:
    """What every section may use.

    Args:
        card: the run card as it was written; any entry may be missing.
        instances: in the order of the run, all of them; a section shows at most `limit`.
        methods, metrics: labels, in the order of the run card.
        setups: labels of what explains in free text; they are none of the methods.
        baseline: the label of the random explanation of words.
        baselines: for each method the label of the random explanation that it is tested against: that of its own kind,
            where the run has one.
        summaries: the leaderboard's rows; none of a metric that does not rank.
        masking: for each metric that masked recursively and has scores, its curves; None where random has no curve.
        unified: the properties of each kind of explanation; None of a run with fewer than two kinds.
        crosslingual: faithfulness across languages; None of a run that did not measure it.
        nle: what the tests of free-text explanations found; None of a run that has none.
        highlights: by instance and method.
        texts: explanations in free text, by instance and set-up.
        skips, scores: by instance.
        alignments: which words of translations belong together, by each aligner.
        reasons: how many scores are missing for which reason, by method and metric.
        damaged: what the store could not read.
    """

    card: Mapping[str, Any]
    instances: Sequence[Instance]
    limit: int
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    setups: tuple[str, ...]
    baseline: str
    baselines: Mapping[str, str]
    summaries: tuple[Summary, ...]
    masking: Mapping[str, MaskingCurves | None]
    unified: Unified | None
    crosslingual: CrossLingual | None
    nle: NleTables | None
    predictions: Mapping[str, Prediction]
    highlights: Mapping[tuple[str, str], Highlight]
    texts: Mapping[tuple[str, str], Nle]
    skips: Mapping[str, Sequence[Skip]]
    scores: Mapping[str, Sequence[Score]]
    alignments: Sequence[Alignment]
    reasons: Mapping[tuple[str, str], Counter[str]]
    damaged: tuple[str, ...]

    @property
    def chance(self) -> str:
        """What methods are tested against, in words: the name of the random explanation, if there is just one."""
        met = {self.baselines[method] for method in self.methods}
        return "the random explanation of the same kind" if len(met) > 1 else self.baseline

    @property
    def shown(self) -> Sequence[Instance]:
        """The first instances of the run, as many as the report holds."""
        return self.instances[: self.limit]

    @property
    def only_texts(self) -> bool:
        """Whether all explanations are in free text: there are no scores of words to show, and no ranks."""
        return bool(self.setups) and not self.methods

    def metric(self, label: str) -> Mapping[str, Any]:
        """The run card's entry of a metric; empty when there is none."""
        return next((entry for entry in entries(self.card, "metrics") if entry.get("label") == label), {})


def content_of(stored: Stored, limit: int) -> Content:
    """Lay out a run: labels in order, rows by instance, and the summary of its scores."""
    card = stored.card
    met = [row.method for rows in (stored.highlights, stored.skips, stored.scores) for row in rows]
    written_in_words = setups(card, stored.texts)
    methods = tuple(label for label in _labels(card, "methods", met) if label not in written_in_words)
    metrics = _labels(card, "metrics", [score.metric for score in stored.scores])
    baseline = next(
        (str(entry.get("label")) for entry in entries(card, "methods") if entry.get("name") == "random"), "random"
    )
    against = dict.fromkeys(methods, baseline) | baselines(card)
    directions = dict.fromkeys(metrics, True)
    directions |= {str(e.get("label")): bool(e.get("higher_is_better", True)) for e in entries(card, "metrics")}
    unranked = {str(e.get("label")) for e in entries(card, "metrics") if not e.get("ranked", True)}
    ranked = [s for s in stored.scores if s.metric not in unranked and s.method not in written_in_words]
    skips: dict[str, list[Skip]] = defaultdict(list)
    for skip in stored.skips:
        skips[skip.instance_id].append(skip)
    scores: dict[str, list[Score]] = defaultdict(list)
    reasons: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for score in stored.scores:
        scores[score.instance_id].append(score)
        if score.reason is not None:
            reasons[score.method, score.metric][score.reason] += 1
    return Content(
        card=card,
        instances=stored.instances,
        limit=limit,
        methods=methods,
        metrics=metrics,
        setups=written_in_words,
        baseline=baseline,
        baselines=against,
        summaries=tuple(
            summarise(ranked, directions, baseline=against, order=methods, parallel=parallel(stored.instances))
        ),
        masking=_masking(card, stored.scores),
        unified=unified(card, stored.scores, stored.highlights),
        crosslingual=crosslingual([LanguageRun(card, stored.instances, stored.predictions, stored.scores)]),
        nle=nle_tables([NleRun(written(card, "model", "name"), card, stored.instances, stored.texts, stored.scores)]),
        predictions={prediction.instance_id: prediction for prediction in stored.predictions},
        highlights={(row.instance_id, row.method): row for row in stored.highlights},
        texts={(row.instance_id, row.method): row for row in stored.texts},
        skips=skips,
        scores=scores,
        alignments=stored.alignments,
        reasons=reasons,
        damaged=stored.damaged,
    )


def _masking(card: Any, scores: Sequence[Score]) -> dict[str, MaskingCurves | None]:
    """The curves of each recursive masking, with the p-values that were taken at the same steps."""
    runs = masked_runs(card, scores) if isinstance(card, Mapping) else {}
    return {label: masking_curves([run]) for label, run in runs.items()}


def entry(card: Any, *path: str) -> Any:
    """What stands in a run card under these keys, one inside the other; None where anything on the way is missing."""
    for key in path:
        if not isinstance(card, Mapping):
            return None
        card = card.get(key)
    return card


def written(card: Any, *path: str) -> str:
    """The same as text, `not recorded` for what is missing."""
    value = entry(card, *path)
    return NOT_RECORDED if value is None or value == "" else str(value)


def entries(card: Any, key: str) -> list[Mapping[str, Any]]:
    """The list of tables that a run card holds under a key; whatever is no table is passed over."""
    rows = entry(card, key)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list | tuple) else []


def _labels(card: Any, key: str, met: Iterable[str]) -> tuple[str, ...]:
    """Labels in the order of the run card, then those that only the rows know."""
    known = [str(row["label"]) for row in entries(card, key) if row.get("label") is not None]
    return tuple(dict.fromkeys([*known, *met]))
