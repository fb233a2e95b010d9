"""The card of a dataset with highlights: how it was made, how far it can be trusted, and what it is not for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from verax.run.highlights.choosing import Choice
from verax.run.highlights.validating import Language
from verax.run.highlights.writing import JSONL, configurations
from verax.run.parameters import Configured
from verax.types import Dataset, Estimate

_WARNINGS = """\
## Before you use it

- **No person made these highlights.** In the reference language they are the words that one attribution method gives
  high scores for one model; in the others, what an automatic word alignment makes of them. They say what that model
  seems to look at, and not what a person would mark.
- They are wrong where the model, the method or the alignment is wrong. Read the table above, and check a sample: the
  build wrote one for people to edit.
- Do not train models that explain themselves on them without care: such a model learns the habits of one
  attribution method, and may come to explain badly.
- They serve to compare explanations across languages. A method that comes out well here agrees with the method that
  the highlights were made by; that alone does not make it faithful, nor does it show that people would agree.
"""


@dataclass(frozen=True)
class Making:
    """Everything that the card tells.

    Args:
        run_card: of the run that explained the inputs: model, versions.
        tuning_card: of the run on the tuning set; None if there was none.
        reading: what `load_dataset` is told.
    """

    data: Dataset
    reference: str
    choice: Choice
    languages: Sequence[Language]
    run_card: Mapping[str, Any]
    tuning_card: Mapping[str, Any] | None
    aligner: Configured[Any]
    reading: Mapping[str, Any]
    split: str
    command: str
    seed: int


def card_text(making: Making) -> str:
    """The card as Markdown, with the header that the `datasets` library reads."""
    sections = (
        _header(making),
        f"# Highlights for {making.data.name} in {len(making.languages)} languages\n",
        _made(making),
        _table(making),
        _WARNINGS,
        _fields(making),
        _source(making),
    )
    return "\n".join(sections)


def _header(making: Making) -> str:
    languages = [one.lang for one in making.languages]
    header = {
        "pretty_name": f"Highlights for {making.data.name}",
        "language": languages,
        "annotations_creators": ["machine-generated"],
        "multilinguality": ["translation"],
        "task_categories": ["text-classification"],
        "tags": ["explainability", "highlights"],
        "configs": configurations([one.lang for one in making.languages if one.rows], making.split),
    }
    return f"---\n{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---\n"


def _made(making: Making) -> str:
    model, choice, aligner = making.run_card["model"], making.choice, making.aligner
    versions = ", ".join(f"{name} {version}" for name, version in making.run_card["versions"].items())
    facts = {
        "reference language": f"`{making.reference}`",
        "model": f"`{model['name']}`, fingerprint `{model['hash']}`",
        "method": f"`{choice.method.name}` with `{_json(choice.method.parameters)}`",
        "scores": "one a word, all words of an input divided by their L2 norm",
        "threshold": f"{choice.threshold!r}: a word with at least this score is highlighted",
        "chosen": _chosen(making),
        "projection": "a word of a translation is highlighted if it is linked to a highlighted word of the same part",
        "aligner": f"`{aligner.name}` with `{_json(aligner.parameters)}`",
        "seed": str(making.seed),
        "versions": f"verax {making.run_card['verax']}, {versions}",
        "command": f"`{making.command}`",
    }
    lines = "".join(f"- {name}: {value}\n" for name, value in facts.items())
    return f"## How it was made\n\n{lines}"


def _chosen(making: Making) -> str:
    tuned, card = making.choice.tuned, making.tuning_card
    if tuned is None or card is None:
        return "method and threshold were given, not tuned"
    overlap = ", ".join(
        f"{name} {number(value)}"
        for name, value in zip(("F1", "precision", "recall"), _f1_first(tuned.overlap), strict=True)
    )
    best = next(one for one in tuned.candidates if one.label == making.choice.method.label)
    return (
        f"on the human highlights of `{card['data']['name']}` with the model `{card['model']['name']}` (fingerprint "
        f"`{card['model']['hash']}`), from {len(tuned.candidates)} candidate methods by mean average precision "
        f"({interval(best.plausibility)}, n = {best.n}, skipped {best.skipped}); over the {tuned.words} words of "
        f"{tuned.inputs} inputs the threshold has {overlap}"
    )


def _f1_first(overlap: tuple[float | None, float | None, float | None]) -> tuple[float | None, ...]:
    precision, recall, f1 = overlap
    return f1, precision, recall


def _table(making: Making) -> str:
    heads = ("language", "rows", "words", "highlighted", "plausibility", "n", "skipped", "not in the dataset")
    lines = [f"| {' | '.join(heads)} |", f"| --- |{' ---: |' * (len(heads) - 3)} --- | --- |"]
    for one in making.languages:
        cells = (one.lang, one.rows, one.words, one.highlighted, interval(one.plausibility), one.n)
        lines.append(f"| {' | '.join(map(str, cells))} | {reasons(one.skipped)} | {reasons(one.left_out)} |")
    return (
        "## What is in it, and how plausible it is\n\n" + "\n".join(lines) + "\n\n"
        "Plausibility is the mean average precision of the same method's own scores in a language against the\n"
        "projected highlights, with its 95 % interval (BCa bootstrap over inputs). In the reference language it is 1\n"
        "by construction: the highlights are its own highest scores.\n"
    )


def _fields(making: Making) -> str:
    return (
        "## Fields\n\n"
        "`id`, `parallel_id` (shared by translations), `lang`, `label`, `prediction` of the model, and for each part\n"
        "of an input its text, its words, where each stands (`_offsets`, in characters, end exclusive), the numbers\n"
        "of the highlighted words from 0 (`_highlights`) and where those stand (`_highlight_chars`). verax reads them\n"
        "with\n\n"
        f"    data: {json.dumps({'name': JSONL, **making.reading})}\n"
    )


def _source(making: Making) -> str:
    known = {"data": making.data.name, **making.data.provenance}
    told = {key: known[key] for key in ("data", "source", "split", "license", "licence", "citation") if key in known}
    lines = "".join(f"- {key}: {value}\n" for key, value in told.items())
    note = (
        "The texts and labels are those of the source data, and its licence holds for them.\n"
        if told.keys() & {"license", "licence"}
        else "The texts and labels are those of the source data, which does not say its licence here: find it out\n"
        "before you pass them on.\n"
    )
    return f"## Source and licence\n\n{lines}\n{note}"


def number(value: float | None) -> str:
    """Three decimals, or a dash."""
    return "–" if value is None else f"{value:.3f}"


def interval(value: Estimate | None) -> str:
    """A value with the ends of its interval."""
    if value is None:
        return "–"
    ends = "" if value.low is None or value.high is None else f" [{value.low:.3f}, {value.high:.3f}]"
    return f"{value.value:.3f}{ends}"


def reasons(counts: Mapping[str, int]) -> str:
    """How many for which reason; 0 if there is none."""
    return ", ".join(f"{reason} {count}" for reason, count in sorted(counts.items())) or "0"


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)
