"""Explanations made elsewhere (Captum, SHAP, inseq, one's own), read from JSONL and laid on our own words."""

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
from verax.data.rows import Row, describe
from verax.data.table import read_jsonl
from verax.data.text import words_over
from verax.registry import unknown
from verax.types import Dataset, Highlight, Instance, Kind, Target, Text, Unit, UserError

FIELDS = ("id", "method", "target", "parts", "scores", "pairs")
PAIR_FIELDS = ("spans", "words", "score")
PART_FIELDS = ("words", "offsets", "scores")


def load_explanations(path: Path, dataset: Dataset) -> dict[str, list[Highlight]]:
    """Explanations by method, in the order of the file, each over its instance's own units.

    Each line is an object with `id` (of an instance of `dataset`), `method` (any name), optionally `target`
    (`prediction`, the default, or `gold`, `loss`, the name of a class), and either `scores` (for each part a score for
    each of our words) or `parts` (for each part `scores` with the `words` or the character `offsets` they belong to) or
    `pairs` (interactions: two `spans` of our words and a `score` each). A piece of a word gives its score to the word
    that it overlaps most.

    An id that the dataset does not have is a mistake, unless a limit cut the dataset short: then it is passed over.
    """
    if not path.is_file():
        raise UserError(f"no such file: {path}")
    return collect(read_jsonl(path), dataset, str(path))


def collect(rows: Iterable[Row], dataset: Dataset, name: str) -> dict[str, list[Highlight]]:
    """The same from rows with the fields of such a file, wherever they come from; `name` is what messages call it."""
    instances = {instance.id: instance for instance in dataset.instances}
    found: dict[str, list[Highlight]] = {}
    places: dict[tuple[str, str], str] = {}
    for row in rows:
        if "limit" in dataset.provenance and row.name("id") not in instances:
            continue
        highlight = _highlight(row, instances, dataset.labels)
        key = (highlight.instance_id, highlight.method)
        if key in places:
            raise row.error("id", f"{key[0]!r} already has an explanation by {key[1]!r} on {places[key]}")
        places[key] = row.position
        found.setdefault(highlight.method, []).append(highlight)
    if not found:
        raise UserError(f"{name}: there is no explanation of these {len(dataset)} instances in it")
    return {method: _of_one_kind(highlights, name) for method, highlights in found.items()}


def _of_one_kind(highlights: list[Highlight], name: str) -> list[Highlight]:
    """Pairs of words are pairs of spans where the method has longer spans for any instance."""
    kinds = {highlight.kind for highlight in highlights}
    if "token" in kinds and len(kinds) > 1:
        raise UserError(f"{name}: {highlights[0].method!r} has scores of words in some lines and pairs in others")
    if len(kinds) == 1:
        return highlights
    return [replace(highlight, kind="span_interaction") for highlight in highlights]


def _highlight(row: Row, instances: Mapping[str, Instance], labels: Sequence[str]) -> Highlight:
    _check_fields(row, row.cells, FIELDS)
    identity = _required(row, "id")
    method = _required(row, "method")
    if identity not in instances:
        raise row.error("id", unknown_id(identity, instances))
    instance = instances[identity]
    of = row.name("target") or "prediction"
    targets = ("prediction", "gold", "loss", *labels)
    if of not in targets:
        raise row.error("target", unknown("target", of, targets))
    if len({"scores", "parts", "pairs"} & row.cells.keys()) != 1:
        raise row.error("scores", "give one of scores (for our own words), parts (with words or offsets), pairs")
    if "pairs" in row.cells:
        pairs = _pairs(row, instance)
        longer = any(span.end - span.start > 1 for unit in pairs for span in unit)
        kind: Kind = "span_interaction" if longer else "token_interaction"
        return Highlight(identity, method, kind, Target(of), tuple(pairs), tuple(pairs.values()))
    scores = tuple(itertools.chain.from_iterable(_scores(row, instance)))
    return Highlight(identity, method, "token", Target(of), instance.units, scores)


def _pairs(row: Row, instance: Instance) -> dict[Unit, float]:
    """The score of each pair of spans."""
    found: dict[Unit, float] = {}
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
        if unit in found:
            raise row.error("pairs", f"pair {number} is there twice: {[list(span) for span in unit]}")
        if "score" not in entry:
            raise row.error("pairs", f"pair {number} has no score")
        found[unit] = _numbers(row, f"pair {number}", [entry["score"]])[0]
    if not found:
        raise row.error("pairs", "there is no pair")
    return found


def _check_fields(row: Row, there: Collection[str], known: Sequence[str]) -> None:
    # A field that nobody reads is most often a slip of the pen in one that somebody would.
    for field in there:
        if field not in known:
            raise UserError(f"{row.where}: {unknown('field', field, known)}")


def _required(row: Row, field: str) -> str:
    name = row.name(field)
    if name is None:
        raise row.error(field, "expected text, got nothing")
    return name


def unknown_id(identity: str, instances: Mapping[str, Instance]) -> str:
    """The message for an id that the data does not have, with the nearest one that it does."""
    # Similarity is slow to compute; the first thousand ids are enough to show what ids look like.
    near = difflib.get_close_matches(identity, list(itertools.islice(instances, 1000)), n=1, cutoff=0.5)
    first = next(iter(instances), "")
    hint = f"did you mean {near[0]!r}?" if near else f"the first of {len(instances)} ids is {first!r}"
    return f"unknown id {identity!r}; {hint}"


def _check_words(row: Row, number: int, said: Any, unit: Unit, instance: Instance) -> None:
    """Refuse words that are not those of the spans; they are optional, and white space does not count."""
    if said is None:
        return
    held = [" ".join(instance.parts[part].words[start:end]) for part, start, end in unit]
    texts = [row.text("pairs", word, f"texts as words of pair {number}") for word in row.items("pairs", said, "words")]
    if ["".join(text.split()) for text in texts] != ["".join(text.split()) for text in held]:
        raise row.error("pairs", f"pair {number}: its spans hold {held}, and its words say {texts}")


def _scores(row: Row, instance: Instance) -> list[list[float]]:
    """For each part a score for each of its words."""
    field = "parts" if "parts" in row.cells else "scores"
    given = row.items(field, row.cells[field], "a list with an entry for each part")
    if len(given) != len(instance.parts):
        raise row.error(field, f"{len(given)} entries for the {len(instance.parts)} parts of {instance.id!r}")
    entries = given if field == "parts" else [{"scores": scores} for scores in given]
    pairs = zip(entries, instance.parts, strict=True)
    return [_part_scores(row, f"part {number}", entry, text) for number, (entry, text) in enumerate(pairs)]


def _part_scores(row: Row, part: str, entry: Any, text: Text) -> list[float]:
    if not isinstance(entry, dict):
        raise row.error("parts", f"{part}: expected an object, got {describe(entry)}")
    _check_fields(row, entry, PART_FIELDS)
    if "words" in entry and "offsets" in entry:
        raise row.error("parts", f"{part}: give words or offsets, not both")
    scores = _numbers(row, part, entry.get("scores"))
    kind = "words" if "words" in entry else "offsets"
    spans: Sequence[tuple[int, int]]
    if kind not in entry:
        kind, spans = "words of ours", text.offsets
    elif kind == "words":
        spans = _word_spans(row, part, entry[kind], text)
    else:
        pairs = row.items(kind, entry[kind], f"a list of [start, end] in {part}")
        spans = [read_offsets(row, kind, pair, text) for pair in pairs]
    if len(spans) != len(scores):
        raise row.error("scores", f"{part}: {len(scores)} scores for {len(spans)} {kind}")
    return _onto_words(row, part, spans, scores, text)


def _numbers(row: Row, part: str, value: Any) -> list[float]:
    scores = []
    for number, item in enumerate(row.items("scores", value, f"a list of numbers in {part}")):
        if isinstance(item, bool) or not isinstance(item, (int, float)):
            raise row.error("scores", f"{part}: score {number}: expected a number, got {describe(item)}")
        try:
            score = float(item)
        except OverflowError:  # a whole number that no float can hold
            score = math.inf
        if not math.isfinite(score):
            raise row.error("scores", f"{part}: score {number} is not a finite number: {item}")
        scores.append(score)
    return scores


def _word_spans(row: Row, part: str, value: Any, text: Text) -> list[tuple[int, int]]:
    given = row.items("words", value, f"a list of words in {part}")
    words = [row.text("words", word, f"a list of texts in {part}") for word in given]
    try:
        return locate(words, text)
    except Mismatch as error:
        raise row.error("words", f"{part}: {error}") from None


def _onto_words(
    row: Row, part: str, spans: Sequence[tuple[int, int]], scores: Sequence[float], text: Text
) -> list[float]:
    """Sum each span's score into the word that it overlaps most (the first of equals); shape [words].

    An empty span stands for a special token, as tokenizers give it: its score belongs to no word.
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
        raise row.error("scores", f"{part}: the scores of a word's pieces add up to more than a number can hold")
    return totals
