"""External explanations (Captum, SHAP, inseq, custom), read from JSONL and mapped onto the words of verax."""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from verax.data.gold import read_offsets, read_span
from verax.data.pieces import Mismatch, locate
from verax.data.rows import Record, describe
from verax.data.table import read_jsonl
from verax.data.text import words_over
from verax.registry import unknown
from verax.types import Dataset, Highlight, Instance, Kind, Target, Text, Unit, UserError

FIELDS = ("id", "method", "target", "parts", "scores", "pairs")
PAIR_FIELDS = ("spans", "words", "score")
PART_FIELDS = ("words", "offsets", "scores")


def load_explanations(path: Path, dataset: Dataset) -> dict[str, list[Highlight]]:
    """Load explanations by method, in file order, each over the units of its instance.

    Each line is an object with `id` (of an instance of `dataset`), `method` (any name), optionally `target`
    (`prediction`, the default, or `gold`, `loss`, the name of a class), and either `scores` (per part one score for
    each word of the instance) or `parts` (per part `scores` with their `words` or character `offsets`) or `pairs`
    (interactions: two `spans` of words and a `score` each). A sub-word adds its score to the word it overlaps most.

    An unknown id is an error, unless the dataset was loaded with a limit or sample; then it is skipped.
    """
    if not path.is_file():
        raise UserError(f"no such file: {path}")
    return collect(read_jsonl(path), dataset, str(path))


def collect(rows: Iterable[Record], dataset: Dataset, name: str) -> dict[str, list[Highlight]]:
    """Like `load_explanations`, from rows with these fields; `name` identifies the source in messages."""
    instances = {instance.id: instance for instance in dataset.instances}
    by_method: dict[str, list[Highlight]] = {}
    positions: dict[tuple[str, str], str] = {}
    for row in rows:
        if dataset.is_partial and row.name("id") not in instances:
            continue
        highlight = _highlight(row, instances, dataset.labels)
        key = (highlight.instance_id, highlight.method)
        if key in positions:
            raise row.error("id", f"{key[0]!r} already has an explanation by {key[1]!r} on {positions[key]}")
        positions[key] = row.position
        by_method.setdefault(highlight.method, []).append(highlight)
    if not by_method:
        raise UserError(f"{name}: contains no explanation of the {len(dataset)} instances")
    return {method: _of_one_kind(highlights, name) for method, highlights in by_method.items()}


def _of_one_kind(highlights: list[Highlight], name: str) -> list[Highlight]:
    """Use one kind per method: word pairs become span pairs if any instance has longer spans."""
    kinds = {highlight.kind for highlight in highlights}
    if "token" in kinds and len(kinds) > 1:
        raise UserError(
            f"{name}: {highlights[0].method!r} has word scores in some lines and pairs in others; use one kind"
        )
    if len(kinds) == 1:
        return highlights
    return [replace(highlight, kind="span_interaction") for highlight in highlights]


def _highlight(row: Record, instances: Mapping[str, Instance], labels: Sequence[str]) -> Highlight:
    _check_fields(row, row.cells, FIELDS)
    instance_id = _required(row, "id")
    method = _required(row, "method")
    if instance_id not in instances:
        raise row.error("id", unknown_id(instance_id, instances))
    instance = instances[instance_id]
    explained = row.name("target") or "prediction"
    targets = ("prediction", "gold", "loss", *labels)
    if explained not in targets:
        raise row.error("target", unknown("target", explained, targets))
    if len({"scores", "parts", "pairs"} & row.cells.keys()) != 1:
        raise row.error(
            "scores", "expected exactly one of scores (one per word), parts (with words or offsets) and pairs"
        )
    if "pairs" in row.cells:
        pairs = _pairs(row, instance)
        longer = any(span.end - span.start > 1 for unit in pairs for span in unit)
        kind: Kind = "span_interaction" if longer else "token_interaction"
        return Highlight(instance_id, method, kind, Target(explained), tuple(pairs), tuple(pairs.values()))
    scores = tuple(itertools.chain.from_iterable(_scores(row, instance)))
    return Highlight(instance_id, method, "token", Target(explained), instance.units, scores)


def _pairs(row: Record, instance: Instance) -> dict[Unit, float]:
    """The score of each pair of spans."""
    scores: dict[Unit, float] = {}
    for number, entry in enumerate(row.items("pairs", row.cells["pairs"], "a list of pairs")):
        if not isinstance(entry, dict):
            raise row.error("pairs", f"pair {number}: expected an object, got {describe(entry)}")
        _check_fields(row, entry, PAIR_FIELDS)
        spans = row.items("pairs", entry.get("spans"), f"two spans [part, start, end] in pair {number}")
        if len(spans) != 2:
            raise row.error("pairs", f"pair {number}: expected two spans, got {describe(spans)}")
        unit = tuple(read_span(row, "pairs", span, instance.parts) for span in spans)
        if unit[0] == unit[1]:
            raise row.error("pairs", f"pair {number}: {list(unit[0])} is paired with itself")
        _check_words(row, number, entry.get("words"), unit, instance)
        if unit in scores:
            raise row.error("pairs", f"pair {number} is a duplicate: {[list(span) for span in unit]}")
        if "score" not in entry:
            raise row.error("pairs", f"pair {number} has no score")
        scores[unit] = _numbers(row, f"pair {number}", [entry["score"]])[0]
    if not scores:
        raise row.error("pairs", "expected at least one pair")
    return scores


def _check_fields(row: Record, given: Collection[str], known: Sequence[str]) -> None:
    # An unknown field is most often a misspelling of a known one.
    for field in given:
        if field not in known:
            raise UserError(f"{row.where}: {unknown('field', field, known)}")


def _required(row: Record, field: str) -> str:
    name = row.name(field)
    if name is None:
        raise row.error(field, "expected text, got an empty value")
    return name


def unknown_id(instance_id: str, instances: Mapping[str, Instance]) -> str:
    """Message for an id that is not in the data, with the nearest match."""
    # Similarity is slow to compute; the first thousand ids are enough to show what ids look like.
    near = difflib.get_close_matches(instance_id, list(itertools.islice(instances, 1000)), n=1, cutoff=0.5)
    first = next(iter(instances), "")
    hint = f"did you mean {near[0]!r}?" if near else f"the first of {len(instances)} ids is {first!r}"
    return f"unknown id {instance_id!r}; {hint}"


def _check_words(row: Record, number: int, given: Any, unit: Unit, instance: Instance) -> None:
    """Reject words that differ from those of the spans; they are optional, and white space is ignored."""
    if given is None:
        return
    expected = [" ".join(instance.parts[part].words[start:end]) for part, start, end in unit]
    texts = [row.text("pairs", word, f"texts as words of pair {number}") for word in row.items("pairs", given, "words")]
    if ["".join(text.split()) for text in texts] != ["".join(text.split()) for text in expected]:
        raise row.error("pairs", f"pair {number}: its spans cover {expected}, but its words are {texts}")


def _scores(row: Record, instance: Instance) -> list[list[float]]:
    """Scores per part and word."""
    field = "parts" if "parts" in row.cells else "scores"
    given = row.items(field, row.cells[field], "a list with an entry for each part")
    if len(given) != len(instance.parts):
        raise row.error(
            field,
            f"expected one entry for each of the {len(instance.parts)} parts of {instance.id!r}, got {len(given)}",
        )
    entries = given if field == "parts" else [{"scores": scores} for scores in given]
    pairs = zip(entries, instance.parts, strict=True)
    return [_part_scores(row, f"part {number}", entry, text) for number, (entry, text) in enumerate(pairs)]


def _part_scores(row: Record, part: str, entry: Any, text: Text) -> list[float]:
    if not isinstance(entry, dict):
        raise row.error("parts", f"{part}: expected an object, got {describe(entry)}")
    _check_fields(row, entry, PART_FIELDS)
    if "words" in entry and "offsets" in entry:
        raise row.error("parts", f"{part}: give words or offsets, not both")
    scores = _numbers(row, part, entry.get("scores"))
    kind = "words" if "words" in entry else "offsets"
    spans: Sequence[tuple[int, int]]
    if kind not in entry:
        kind, spans = "words", text.offsets
    elif kind == "words":
        spans = _word_spans(row, part, entry[kind], text)
    else:
        pairs = row.items(kind, entry[kind], f"a list of [start, end] in {part}")
        spans = [read_offsets(row, kind, pair, text) for pair in pairs]
    if len(spans) != len(scores):
        raise row.error("scores", f"{part}: {len(scores)} scores for {len(spans)} {kind}")
    return _onto_words(row, part, spans, scores, text)


def _numbers(row: Record, part: str, value: Any) -> list[float]:
    scores = []
    for number, item in enumerate(row.items("scores", value, f"a list of numbers in {part}")):
        if isinstance(item, bool) or not isinstance(item, (int, float)):
            raise row.error("scores", f"{part}: score {number}: expected a number, got {describe(item)}")
        try:
            score = float(item)
        except OverflowError:  # an integer too large for a float
            score = math.inf
        if not math.isfinite(score):
            raise row.error("scores", f"{part}: score {number} is not a finite number: {item}")
        scores.append(score)
    return scores


def _word_spans(row: Record, part: str, value: Any, text: Text) -> list[tuple[int, int]]:
    given = row.items("words", value, f"a list of words in {part}")
    words = [row.text("words", word, f"a list of texts in {part}") for word in given]
    try:
        return locate(words, text)
    except Mismatch as error:
        raise row.error("words", f"{part}: {error}") from None


def _onto_words(
    row: Record, part: str, spans: Sequence[tuple[int, int]], scores: Sequence[float], text: Text
) -> list[float]:
    """Sum each span's score into the word that it overlaps most (the first of equals); shape [words].

    An empty span is a special token, as returned by tokenizers; its score belongs to no word.
    """
    totals = [0.0] * len(text.words)
    for (start, end), score in zip(spans, scores, strict=True):
        if start == end:
            continue
        places = {number: text.offsets[number] for number in words_over(text, start, end)}
        overlaps = {number: min(end, e) - max(start, s) for number, (s, e) in places.items()}
        if not overlaps:
            raise row.error("offsets", f"{part}: [{start}, {end}] covers no word of the text")
        totals[max(overlaps, key=overlaps.__getitem__)] += score
    if not all(math.isfinite(total) for total in totals):
        raise row.error("scores", f"{part}: the scores of the pieces of a word overflow when summed")
    return totals
