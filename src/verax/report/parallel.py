"""Parallel sentences: an input and its translation, explained by the same method, with their alignment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verax.report.content import Content
from verax.report.elements import select
from verax.report.parallel_plot import Scored, drawing
from verax.report.words import strongest_scores
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import number, plural
from verax.studies.crosslingual.analysis import CrossLingual
from verax.studies.crosslingual.rows import Explainer, Measure
from verax.studies.crosslingual.tables import method_name
from verax.types import Alignment, Highlight, Instance

PAIRS = 60
"""Largest number of pairs of texts on a page."""


class ParallelPair(NamedTuple):
    """An input of the reference language, its translation, and their word alignment, if it is known."""

    reference: Instance
    translation: Instance
    alignment: Alignment | None


def section(content: Content, *, of: str | None = None) -> Html:
    """A choice of language and method, and the pairs; empty if no pair was explained.

    Args:
        of: only the pairs of the input with this parallel id.
    """
    found: CrossLingual | None = content.run.study("crosslingual")
    pairs = [] if found is None else pairs_of(content, found, of)
    if found is None or not pairs:
        return join()
    view = Content(content.run, [instance.id for pair in pairs for instance in pair[:2]])
    methods = [method for method in found.methods if any(_explained(view, pair, method.label) for pair in pairs)]
    if not methods:
        return join()
    first = _first(found, methods)
    return tag(
        "div",
        tag("p", _reading(found, pairs), class_="note"),
        _choice(pairs, methods, first),
        tag("div", [_pair(view, found, pair, methods, first) for pair in pairs], id="pairs"),
        class_="parallel-texts",
    )


def pairs_of(content: Content, found: CrossLingual, of: str | None = None) -> list[ParallelPair]:
    """The first inputs of the reference language, or that with a parallel id, with each of their translations."""
    inputs = content.run.instances
    groups: dict[str, dict[str, str]] = {}
    for one, lang, shared in zip(inputs.ids, inputs.langs, inputs.parallel_ids, strict=True):
        if shared is not None and of in {None, shared}:
            groups.setdefault(shared, {}).setdefault(lang, one)
    limit = max(1, min(len(content.ids), PAIRS // len(found.by_language))) if content.ids else 0
    whole = [group for group in groups.values() if found.reference in group and len(group) > 1]
    both = [
        (group[found.reference], group[str(one.language)])
        for group in whole[:limit]
        for one in found.by_language
        if one.language in group
    ]
    texts = {instance.id: instance for instance in content.run.inputs([name for pair in both for name in pair])}
    # a run may align the same translation with inputs of several reference languages
    wanted = {(translation, reference) for reference, translation in both}
    rows = content.run.alignments([translation for _, translation in both])
    aligned = _aligned([row for row in rows if (row.instance_id, row.reference_id) in wanted], found.overall[0].measure)
    return [ParallelPair(texts[one], texts[other], aligned.get(other)) for one, other in both]


def _aligned(alignments: Sequence[Alignment], measure: Measure) -> dict[str, Alignment]:
    """The alignment of each translation by the aligner of the tables."""
    chosen = measure.find_aligner(dict.fromkeys(one.aligner for one in alignments))
    return {one.instance_id: one for one in alignments if one.aligner == chosen}


def _explained(view: Content, pair: ParallelPair, method: str) -> bool:
    return any(_highlight(view, instance, method) for instance in pair[:2])


def _highlight(view: Content, instance: Instance, method: str) -> Highlight | None:
    made = view.highlights.get((instance.id, method))
    return made if made is not None and made.kind == "token" else None


def _first(found: CrossLingual, methods: Sequence[Explainer]) -> int:
    """Number of the method that is shown first: the most faithful one."""
    cells = found.overall[0].cells
    values = [
        cell.value.value if one.is_method and (cell := cells.get(one.label)) is not None and cell.value else -2.0
        for one in methods
    ]
    return values.index(max(values))


def _reading(found: CrossLingual, pairs: Sequence[ParallelPair]) -> str:
    shown = len({pair.reference.id for pair in pairs})
    inputs = "One input" if shown == 1 else f"The first {plural(shown, 'input')}"
    translations = "its translations" if shown == 1 else "their translations"
    return (
        f"{inputs} in {found.reference}, above, and {translations}, below. Each side is "
        "coloured by its own explanation, of the class that is predicted for it: orange over a solid line supports it, "
        "blue over a dotted one opposes it; violet is more or less, of a score without a sign. Deeper is stronger. A "
        "line joins words that are aligned: the stronger both words, the stronger the line; coloured where both are. "
        "Where texts are cut, numbers are at both ends of a link that leads to another line. ρ is the correlation of "
        "this pair."
    )


def _choice(pairs: Sequence[ParallelPair], methods: Sequence[Explainer], first: int) -> Html:
    """Controls for the script of the page; hidden without it."""
    languages = {f"={pair.translation.lang}": pair.translation.lang for pair in pairs}
    names = {str(place): method_name(method) for place, method in enumerate(methods)}
    return tag(
        "form",
        select("Language", "parallel-language", {**languages, "": "all"}, autocomplete="off"),
        select("Method", "parallel-method", names, chosen=str(first), autocomplete="off"),
        id="parallel-choice",
        class_="choice",
        hidden=True,
        aria_label="Choose language and method",
    )


def _pair(view: Content, found: CrossLingual, pair: ParallelPair, methods: Sequence[Explainer], first: int) -> Html:
    """One pair: method, predictions, and the picture."""
    signed = [view.manifest.method(method.label).two_sided for method in methods]
    sides = [
        tuple(_scored(_highlight(view, one, method.label), one, signed=has_sign) for one in pair[:2])
        for method, has_sign in zip(methods, signed, strict=True)
    ]
    values = [_value(view, found, pair.translation, method.label) for method in methods]
    painted = [
        [[_short(side.scores, instance) for side, instance in zip(both, pair[:2], strict=True)], value, has_sign]
        for both, value, has_sign in zip(sides, values, signed, strict=True)
    ]
    upper, lower = sides[first]
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("span", f"{pair.reference.lang} ↔ {pair.translation.lang}", class_="languages"),
            tag("span", method_name(methods[first]), class_="method", dir="auto"),
            tag("span", values[first], class_="value"),
            tag("span", _predicted(view, pair), class_="quiet", dir="auto"),
            _trouble(pair.alignment),
        ),
        drawing(pair.reference, pair.translation, pair.alignment.links if pair.alignment else (), (upper, lower)),
        class_="pair",
        data_lang=pair.translation.lang,
        data_painted=json.dumps(painted, separators=(",", ":"), allow_nan=False),
    )


def _trouble(alignment: Alignment | None) -> Html | None:
    """Why no words are aligned."""
    if alignment is None:
        return tag("span", "alignment not recorded", class_="quiet")
    if alignment.reason is None:
        return None
    return tag("span", f"not aligned: {alignment.reason}", title=alignment.detail or None, class_="quiet", dir="auto")


def _scored(highlight: Highlight | None, instance: Instance, *, signed: bool) -> Scored:
    """Scores by the number of the word over all parts."""
    numbers = {(unit[0].part, unit[0].start): place for place, unit in enumerate(instance.units)}
    scores = {} if highlight is None else strongest_scores(highlight)
    return Scored({numbers[place]: score for place, score in scores.items()}, signed)


def _short(scores: Mapping[int, float], instance: Instance) -> list[float | None]:
    """A score for each word to three digits, for the script."""
    return [float(f"{scores[word]:.3g}") if word in scores else None for word in range(len(instance.units))]


def _value(view: Content, found: CrossLingual, translation: Instance, method: str) -> str:
    """The faithfulness of one pair, or why it has none."""
    metric = found.overall[0].measure.metric
    for score in view.scores.get(translation.id, ()):
        if (score.metric, score.method) == (metric, method):
            return f"ρ {number(score.value)}" if score.value is not None else f"no ρ: {score.reason}"
    return "no ρ"


def _predicted(view: Content, pair: ParallelPair) -> str:
    """The predictions for both."""
    labels = [
        made.label if (made := view.predictions.get(instance.id)) is not None else "nothing" for instance in pair[:2]
    ]
    gold = f", gold {pair.reference.label}" if pair.reference.label is not None else ""
    return f"predicted {labels[0]}{gold}" if labels[0] == labels[1] else f"predicted {labels[0]} and {labels[1]}{gold}"
