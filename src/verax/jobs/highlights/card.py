"""The card of a dataset with highlights: how it was made, how far it can be trusted, and what it is not for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from verax.jobs.highlights.choose import ChosenMethod
from verax.jobs.highlights.dataset import JSONL, configurations, split_name
from verax.jobs.highlights.explain import Opened
from verax.jobs.highlights.project import Language
from verax.results.manifest import Manifest
from verax.results.render.numbers import MISSING, estimate, number
from verax.types import Dataset

_WARNINGS = """\
## Before you use it

- **No person made these highlights.** In the reference language they are the words that one attribution method gives
  high scores for one model; in the others they are projected by an automatic word alignment. They show what that model
  seems to use, not what a person would highlight.
- They are wrong where the model, the method or the alignment is wrong. Read the table above, and check a sample: the
  build wrote one for people to edit.
- Do not train self-explaining models on them without care: such a model learns the habits of one attribution method,
  and its explanations may become worse.
- They serve to compare explanations across languages. A method that scores well here agrees with the method that made
  the highlights; that alone does not make it faithful, nor does it show that people would agree.
"""

_FIELDS = """\
## Fields

`id`, `parallel_id` (shared by translations), `lang`, `label`, `prediction` of the model, and for each part
of an input its text, its words, their positions (`_offsets`, in characters, end exclusive), the indices of
the highlighted words from 0 (`_highlights`) and their positions (`_highlight_chars`). verax reads them
with

    data: {}
"""


@dataclass(frozen=True)
class Built:
    """A finished build.

    Args:
        run: the manifest of the run that explained the inputs.
        tuning: the manifest of the run on the tuning set; None if there was none.
        reading: the options of `load_dataset`.
        sampled: number of rows for people to check, by language.
    """

    opened: Opened
    choice: ChosenMethod
    languages: tuple[Language, ...]
    run: Manifest
    tuning: Manifest | None
    reading: Mapping[str, Any]
    sampled: Mapping[str, int]
    command: str


def card_text(built: Built) -> str:
    """The card as Markdown, with the header that the `datasets` library reads."""
    data = built.opened.data
    header = {
        "pretty_name": f"Highlights for {data.name}",
        "language": [language.lang for language in built.languages],
        "annotations_creators": ["machine-generated"],
        "multilinguality": ["translation"],
        "task_categories": ["text-classification"],
        "tags": ["explainability", "highlights"],
        "configs": configurations([one.lang for one in built.languages if one.rows], split_name(data)),
    }
    sections = (
        f"---\n{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---\n",
        f"# Highlights for {data.name} in {len(built.languages)} languages\n",
        _made(built),
        _table(built.languages),
        _WARNINGS,
        _FIELDS.format(json.dumps({"name": JSONL, **built.reading})),
        _source(data),
    )
    return "\n".join(sections)


def _made(built: Built) -> str:
    model, choice, aligner = built.run.model, built.choice, built.opened.aligner.named
    versions = ", ".join(f"{name} {version}" for name, version in built.run.versions.items())
    facts = {
        "reference language": f"`{built.opened.parallel.reference}`",
        "model": f"`{model.name}`, fingerprint `{model.hash}`",
        "method": f"`{choice.method.name}` with `{_json(choice.method.parameters)}`",
        "scores": "one per word, all words of an input divided by their L2 norm",
        "threshold": f"{choice.threshold!r}: a word with at least this score is highlighted",
        "choice": _choice(built),
        "projection": "a word of a translation is highlighted if it is linked to a highlighted word of the same part",
        "aligner": f"`{aligner.name}` with `{_json(aligner.parameters)}`",
        "seed": str(built.opened.spec.seed),
        "versions": f"verax {built.run.verax}, {versions}",
        "command": f"`{built.command}`",
    }
    lines = "".join(f"- {name}: {value}\n" for name, value in facts.items())
    return f"## How it was made\n\n{lines}"


def _choice(built: Built) -> str:
    tuned, run = built.choice.tuned, built.tuning
    if tuned is None or run is None:
        return "method and threshold were given, not tuned"
    precision, recall, f1 = map(number, tuned.overlap)
    best = next(one for one in tuned.candidates if one.label == built.choice.method.label)
    plausibility = MISSING if best.plausibility is None else estimate(best.plausibility)
    return (
        f"on the human highlights of `{run.data.name}` with the model `{run.model.name}` (fingerprint "
        f"`{run.model.hash}`), from {len(tuned.candidates)} candidate methods by mean average precision "
        f"({plausibility}, n = {best.n}, skipped {best.skipped}); over the {tuned.words} words of {tuned.inputs} "
        f"inputs the threshold has F1 {f1}, precision {precision}, recall {recall}"
    )


def _table(languages: Sequence[Language]) -> str:
    heads = ("language", "rows", "words", "highlighted", "plausibility", "n", "skipped", "not in the dataset")
    lines = [f"| {' | '.join(heads)} |", f"| --- |{' ---: |' * (len(heads) - 3)} --- | --- |"]
    for one in languages:
        plausibility = MISSING if one.plausibility is None else estimate(one.plausibility)
        cells = (one.lang, one.rows, one.words, one.highlighted, plausibility, one.n)
        lines.append(f"| {' | '.join(map(str, cells))} | {reasons(one.skipped)} | {reasons(one.left_out)} |")
    return (
        "## Content and plausibility\n\n" + "\n".join(lines) + "\n\n"
        "Plausibility is the mean average precision of the same method's own scores in a language against the\n"
        "projected highlights, with its 95 % interval (BCa bootstrap over inputs). In the reference language it is 1\n"
        "by construction: the highlights are its own highest scores.\n"
    )


def _source(data: Dataset) -> str:
    known = {"data": data.name, **data.provenance}
    shown = {key: known[key] for key in ("data", "source", "split", "license", "licence", "citation") if key in known}
    lines = "".join(f"- {key}: {value}\n" for key, value in shown.items())
    note = (
        "The texts and labels are those of the source data, and its licence applies to them.\n"
        if shown.keys() & {"license", "licence"}
        else "The texts and labels are those of the source data, which states no licence here: find it out before you\n"
        "pass them on.\n"
    )
    return f"## Source and licence\n\n{lines}\n{note}"


def reasons(counts: Mapping[str, int]) -> str:
    """Reasons with their counts; 0 if there is none."""
    return ", ".join(f"{reason} {count}" for reason, count in sorted(counts.items())) or "0"


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)
