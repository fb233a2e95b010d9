"""The instances: each with its labels, and its explanation by every method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from verax.report.arcs import CHOICES, TOP, people_html, picture
from verax.report.content import Content
from verax.report.elements import (
    human_texts,
    instance_count,
    is_wrong,
    method_label,
    missing,
    search,
    select,
    wrong_flag,
)
from verax.report.words import annotated_words, words_html
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import count, number
from verax.types import Highlight, Instance, Prediction, Skip

_CLASSES = 4
_SPARK = (120, 30)


def section(content: Content, *, controls: bool = True) -> Html:
    """A legend, a filter and the first instances of the run; empty if all explanations are in free text.

    Args:
        controls: count, filter and pages; a page of a single instance has none.
    """
    if content.run.text_methods and not content.methods:
        return join()
    if not content.instances:
        return tag("p", "This report holds no instances.", class_="note")
    arcs = any(_has_arcs(content, instance) for instance in content.instances)
    return join(
        instance_count(content) if controls else None,
        _legend(content),
        _filter(content) if controls else None,
        scores_choice() if any(row.kind == "token" for row in content.highlights.values()) else None,
        _choice_of_pairs() if arcs else None,
        tag("div", [_instance(content, instance) for instance in content.instances], id="instances-list"),
        tag("nav", id="instances-pages", aria_label="Pages of instances", hidden=True, class_="pages")
        if controls
        else None,
    )


def _legend(content: Content) -> Html:
    """What the colours, lines, boxes and arcs mean, of those that are on the page."""
    shown = {(row.kind, content.manifest.method(row.method).two_sided) for row in content.highlights.values()}
    kinds, scales = {kind for kind, _ in shown}, {signed for _, signed in shown}
    keys = colour_keys(scales, annotated=any(annotated_words(instance) for instance in content.instances))
    notes = []
    if "token" in kinds:
        notes.append("Deeper and thicker is stronger, compared with the strongest word of the same explanation.")
    if kinds - {"token"}:
        notes.append(
            "An arc joins two words or spans; its number is its rank by score, highest first. Thicker is stronger, "
            "compared with the strongest pair of the same explanation. Annotated pairs are grey."
        )
    if _masked(content):
        notes.append(
            "The small curve is the probability of the gold class while words are masked by this explanation, from "
            "none to all (0 to 1); in grey, masked at random."
        )
    return tag("ul", keys, [tag("li", note) for note in notes], class_="legend keys")


def colour_keys(scales: AbstractSet[bool], *, annotated: bool = False) -> list[Html]:
    """Entries of a legend: of scores with a sign (True in `scales`), of those without one, and of annotated words."""
    samples = []
    if True in scales:
        samples += [
            ("for8", "orange, solid line", "supports what is explained (the predicted class, unless a method says so)"),
            ("against8", "blue, dotted line", "opposes it"),
        ]
    if False in scales:
        samples.append(("size8", "violet", "more or less, of methods whose scores have no sign"))
    if annotated:
        samples.append(("gold", "boxed", "annotated by people"))
    return [tag("li", tag("mark", sample, class_=f"word {look}"), f" {meaning}") for look, sample, meaning in samples]


def scores_choice() -> Html:
    """A control for the script of the page, which then prints scores next to their words; hidden without it."""
    box = tag("input", type="checkbox", id="print-scores", autocomplete="off")
    return tag("p", tag("label", box, " scores next to words", class_="check"), id="scores-choice", hidden=True)


def _has_arcs(content: Content, instance: Instance) -> bool:
    """Whether any method explains an instance by interactions."""
    made = [content.highlights.get((instance.id, method)) for method in content.methods]
    return any(highlight is not None and highlight.kind != "token" for highlight in made)


def _choice_of_pairs() -> Html:
    """Number of visible pairs of each explanation; the style sheet applies it without any script."""
    attributes = {"type": "radio", "name": "top"}
    choices = [
        tag("label", tag("input", **attributes, id=f"top-{n}", value=n, checked=n == TOP, autocomplete="off"), f" {n}")
        for n in CHOICES
    ]
    return tag("fieldset", tag("legend", "Pairs shown of each explanation"), choices, id="top")


def _filter(content: Content) -> Html:
    """Controls for the script of the page; hidden without it."""
    labels = {instance.label for instance in content.instances if instance.label is not None}
    labels |= {prediction.label for prediction in content.predictions.values()}
    return tag(
        "form",
        search("filter-text"),
        select("Label", "filter-label", {"": "all", **{f"={label}": label for label in sorted(labels)}}),
        select("Method", "filter-method", {"": "all", **{f"={label}": label for label in content.methods}}),
        tag("label", tag("input", type="checkbox", id="filter-wrong"), " wrong predictions only", class_="check"),
        tag("label", tag("input", type="checkbox", id="filter-skipped"), " skipped only", class_="check"),
        tag("output", id="filter-count", aria_live="polite"),
        id="filter",
        hidden=True,
        aria_label="Filter the instances",
        class_="filter",
    )


def _instance(content: Content, instance: Instance) -> Html:
    prediction = content.predictions.get(instance.id)
    wrong = prediction is not None and is_wrong(instance, prediction.label, prediction.labels)
    skips = content.skips.get(instance.id, ())
    return tag(
        "article",
        tag("header", tag("h3", instance.id, dir="auto"), labels_html(instance, prediction)),
        human_texts(instance),
        tag(
            "dl",
            [_explanation(content, instance, method, skips) for method in content.methods],
            _people(instance) if _has_arcs(content, instance) else None,
            class_="methods",
        ),
        _scores(content, instance),
        class_="instance",
        data_gold=instance.label,
        data_predicted=None if prediction is None else prediction.label,
        data_wrong=wrong,
        data_skipped=bool(skips),
    )


def labels_html(instance: Instance, prediction: Prediction | None) -> Html:
    """Gold and predicted class, a flag if they differ, and the most likely classes with their probabilities."""
    facts: list[Html] = []
    if instance.label is not None:
        facts.append(tag("span", "gold ", tag("strong", instance.label, dir="auto")))
    if prediction is None:
        return tag("p", facts, tag("span", "no prediction"), class_="labels")
    verdict = wrong_flag(instance, prediction.label, prediction.labels)
    facts.append(tag("span", "predicted ", tag("strong", prediction.label, dir="auto"), verdict))
    ranked = sorted(zip(prediction.probabilities, prediction.labels, strict=True), key=lambda pair: -pair[0])
    classes = [tag("span", tag("span", label, dir="auto"), f" {number(chance)}") for chance, label in ranked[:_CLASSES]]
    rest = len(ranked) - _CLASSES
    more = tag("span", f"{count(rest)} more") if rest > 0 else None
    return tag("p", facts, tag("span", classes, more, class_="classes"), class_="labels")


def _people(instance: Instance) -> Html | None:
    """The annotated pairs, below those of the methods."""
    drawn = people_html(instance, inline=False)
    return None if drawn is None else tag("div", tag("dt", "annotated by people"), tag("dd", drawn))


def _explanation(content: Content, instance: Instance, method: str, skips: Iterable[Skip]) -> Html:
    highlight = content.highlights.get((instance.id, method))
    facts: list[str] = []
    if highlight is not None:
        signed = content.manifest.method(method).two_sided
        shown = picture(highlight, instance, inline=False, signed=signed)
        facts += [] if signed else ["no sign"]
        facts += [f"explains {highlight.target}"] if str(highlight.target) != "prediction" else []
    else:
        shown = join(missing(method, skips), words_html(None, instance, inline=False))
    sparks = _sparks(content, instance, method)
    curves = tag("dd", sparks, class_="curves") if sparks else None
    note = tag("small", ", ".join(facts), dir="auto") if facts else None
    return tag("div", tag("dt", method_label(content, method), note), tag("dd", shown), curves, data_method=method)


def _masked(content: Content) -> list[str]:
    """Labels of the metrics that mask words step by step."""
    return [entry.label for entry in content.manifest.metrics if entry.name == "recursive_masking"]


def _sparks(content: Content, instance: Instance, method: str) -> list[Html]:
    """Curves of the gold class's probability while this instance was masked recursively."""
    metrics = _masked(content)
    if not metrics:
        return []
    scores = {(score.method, score.metric): score.curve for score in content.scores.get(instance.id, ())}
    baseline = content.manifest.baseline(method)
    curves = [(scores.get((method, metric)), scores.get((baseline, metric))) for metric in metrics]
    return [_spark(curve, random if method != baseline else None) for curve, random in curves if curve]


def _spark(curve: Sequence[float], random: Sequence[float] | None) -> Html:
    """The probability of the gold class while words are masked; masking at random in grey."""
    width, height = _SPARK
    shapes = [tag("path", d=f"M2 {y}H{width - 2}", class_="grid") for y in (3, height - 3)]
    for values, look in ((random, "random"), (curve, "measure")):
        if values:
            step = (width - 4) / max(len(values) - 1, 1)
            points = [
                f"{2 + place * step:.1f} {height - 3 - (height - 6) * min(max(value, 0.0), 1.0):.1f}"
                for place, value in enumerate(values)
            ]
            shapes.append(tag("path", d=f"M{'L'.join(points)}", class_=look))
    spoken = f"gold probability while masked: {', '.join(map(number, curve))}"
    return tag("svg", shapes, class_="plot spark", width=width, height=height, role="img", aria_label=spoken)


def _scores(content: Content, instance: Instance) -> Html | None:
    """Metric values of this instance and the notes of its explanations, on demand."""
    values = {(score.method, score.metric): score for score in content.scores.get(instance.id, ())}
    notes = {method: _notes(content.highlights.get((instance.id, method))) for method in content.methods}
    if not values and not any(notes.values()):
        return None
    rows = []
    for method in content.methods:
        cells = []
        for metric in content.run.metrics:
            score = values.get((method, metric))
            shown = "" if score is None else score.reason or number(score.value)
            cells.append(tag("td", shown, title=score.detail or None if score else None, class_="number"))
        rows.append(tag("tr", tag("th", method, scope="row", dir="auto"), cells, tag("td", notes[method], dir="auto")))
    head = tag(
        "tr",
        tag("th", "Method", scope="col"),
        [tag("th", metric, scope="col", dir="auto") for metric in content.run.metrics],
        tag("th", "Notes", scope="col"),
    )
    table = tag("table", tag("thead", head), tag("tbody", rows))
    return tag("details", tag("summary", "Metrics of this instance"), tag("div", table, class_="scroll"))


def _notes(highlight: Highlight | None) -> str:
    """Facts that a method kept with one explanation."""
    notes = {} if highlight is None else highlight.notes
    return ", ".join(f"{key} {number(note) if isinstance(note, float) else note}" for key, note in notes.items())
