"""Is the same attribution method, in another language, plausible by the highlights that were projected there?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Console

from verax.metrics.agreement.plausibility import average_precision
from verax.models.classifier import Classifier
from verax.models.subject import Subject
from verax.results.run import Run
from verax.run.highlights.rows import Highlighted
from verax.run.progress import progress_counter
from verax.stats.inference import mean_interval
from verax.types import Estimate, Highlight, Human, Undefined


@dataclass(frozen=True)
class Language:
    """One language of the dataset.

    Args:
        rows: how many inputs it has.
        left_out: why how many others have none.
        words, highlighted: of its rows.
        plausibility: mean average precision of the method's own scores against the highlights; None without a value.
        n: rows with a value.
        skipped: why how many rows have none.
    """

    lang: str
    rows: int
    left_out: Mapping[str, int]
    words: int
    highlighted: int
    plausibility: Estimate | None
    n: int
    skipped: Mapping[str, int]


def validate(
    languages: Sequence[str],
    rows: Sequence[Highlighted],
    left_out: Mapping[str, Mapping[str, int]],
    run: Run,
    label: str,
    model: Classifier,
    console: Console,
) -> tuple[Language, ...]:
    """Each language with its average precision.

    Args:
        left_out: by language, why inputs are not among the rows.
        run: explains all inputs.
        label: of the method.
        console: for how far it is.
    """
    highlights = {row.instance_id: row for row in run.highlights if row.method == label}
    reasons = {row.instance_id: row.reason for row in run.stored.skips if row.method == label}
    measured: dict[str, list[float | str]] = {lang: [] for lang in languages}
    with progress_counter("validating", len(rows), console) as advance:
        for row in rows:
            measured[row.instance.lang].append(_measured(row, highlights, reasons, model))
            advance()
    by_language = {lang: [row for row in rows if row.instance.lang == lang] for lang in languages}
    return tuple(_language(lang, by_language[lang], left_out.get(lang, {}), measured[lang]) for lang in languages)


def _language(
    lang: str, rows: Sequence[Highlighted], left_out: Mapping[str, int], found: Sequence[float | str]
) -> Language:
    values = [value for value in found if isinstance(value, float)]
    return Language(
        lang,
        len(rows),
        dict(left_out),
        _total(row.instance.units for row in rows),
        _total(part for row in rows for part in row.words),
        mean_interval(values) if values else None,
        len(values),
        dict(Counter(value for value in found if isinstance(value, str))),
    )


def _measured(
    row: Highlighted, highlights: Mapping[str, Highlight], reasons: Mapping[str, str], model: Classifier
) -> float | str:
    """Average precision, or the reason why there is none."""
    instance = row.instance
    if instance.id not in highlights:
        return reasons[instance.id]
    try:
        x = Subject(replace(instance, human=Human(words=row.words)), model)
        return average_precision(x, highlights[instance.id])
    except Undefined as undefined:
        return undefined.reason


def _total(things: Iterable[Sequence[object]]) -> int:
    return sum(map(len, things))
