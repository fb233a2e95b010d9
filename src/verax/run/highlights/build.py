"""`verax build-highlights`: choose method and threshold, binarise, project, write, validate.

Zaman and Belinkov 2022, A Multilingual Perspective Towards the Evaluation of Attribution Methods in Natural Language
Inference, Section 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from verax.results.run import Run
from verax.run.highlights.aligning import aligned_parts
from verax.run.highlights.annotations import FOLDER as SAMPLES
from verax.run.highlights.annotations import sample, write_annotations
from verax.run.highlights.card import Making, card_text
from verax.run.highlights.choosing import Choice, choose
from verax.run.highlights.explaining import explain_into
from verax.run.highlights.folder import claimed, write_record
from verax.run.highlights.opening import Opened, across_languages
from verax.run.highlights.projecting import highlighted_rows
from verax.run.highlights.rows import part_names, reading
from verax.run.highlights.spec import HighlightsSpec
from verax.run.highlights.validating import Language, validate
from verax.run.highlights.writing import CARD, FOLDER, JSONL, split_name, write_jsonl, write_parquet
from verax.store.files import replace_file
from verax.store.read import read_card
from verax.types import UserError


@dataclass(frozen=True)
class Built:
    """What a build gives: the choice, each language, how to read the data again, and the sizes of the samples."""

    choice: Choice
    languages: tuple[Language, ...]
    reading: Mapping[str, Any]
    sampled: Mapping[str, int]


def build_highlights(spec: HighlightsSpec, out: Path, *, command: str, console: Console) -> Built:
    """Make a dataset with highlights; what is computed already is not computed again.

    Args:
        out: its folder, with what is kept on the way.
        command: what a person types to get the same again.
        console: for progress and notices.
    """
    opened = Opened.of(spec)
    with claimed(out, opened.identity()):
        options: dict[str, Any] = {"seed": spec.seed, "command": command, "console": console}
        if opened.tuning is not None:
            choice = choose(opened.tuning, opened.candidates, spec.threshold, out / "tuning", **options)
        elif spec.threshold is not None:
            choice = Choice(opened.candidates[0], spec.threshold)
        else:
            raise ValueError("a spec without a tuning set has a threshold: parse_highlights_spec sees to it")
        what = replace(opened.what, data=replace(opened.what.data, instances=opened.parallel.instances))
        run = explain_into(out / "run", what, [choice.asked], across_languages(spec), **options)
        return _conclude(opened, choice, run, out, command, console)


def _conclude(opened: Opened, choice: Choice, run: Run, out: Path, command: str, console: Console) -> Built:
    """Make the rows from explanations and links, write them in all forms, and say how plausible they are."""
    spec, data, parallel, model = opened.spec, opened.what.data, opened.parallel, opened.what.model
    rows, left_out = highlighted_rows(parallel, choice, run, aligned_parts(run, parallel), model.labels)
    languages = validate(parallel.languages, rows, left_out, run, choice.method.label, model, console)
    if not any(one.highlighted for one in languages):
        why = f"the threshold is {choice.threshold:g}" if rows else "none of them could be explained"
        raise UserError(f"no word of the {len(parallel.instances)} inputs of {data.name} is highlighted: {why}")
    names, split = part_names(data), split_name(data)
    sampled = sample(rows, spec.sample, spec.seed)
    making = Making(
        data=data,
        reference=parallel.reference,
        choice=choice,
        languages=languages,
        run_card=run.card,
        tuning_card=None if opened.tuning is None else read_card(out / "tuning")[0],
        aligner=opened.aligner.named,
        reading=reading(rows, names),
        split=split,
        command=command,
        seed=spec.seed,
    )
    write_jsonl(out / JSONL, rows, names)
    write_parquet(out / FOLDER, rows, names, split)
    replace_file(out / FOLDER / CARD, card_text(making).encode())
    write_annotations(out / SAMPLES, sampled, names)
    ids = {lang: [row.instance.id for row in some] for lang, some in sampled.items()}
    record = {"identity": opened.identity(), **_facts(spec, choice, languages), "parts": names, "sample": ids}
    write_record(out, record)
    return Built(choice, languages, making.reading, {lang: len(some) for lang, some in sampled.items()})


def _facts(spec: HighlightsSpec, choice: Choice, languages: tuple[Language, ...]) -> dict[str, Any]:
    """What was chosen and found, for programs."""
    tuned: dict[str, Any] | None = None
    if choice.tuned is not None:
        tuned = {
            **choice.tuned._asdict(),
            "candidates": [_with_interval(one._asdict()) for one in choice.tuned.candidates],
            "overlap": choice.tuned.overlap._asdict(),
        }
    return {
        "spec": spec.model_dump(mode="json"),
        "method": {choice.method.name: choice.method.parameters},
        "threshold": choice.threshold,
        "tuned": tuned,
        "languages": [_with_interval({**asdict(one), "plausibility": one.plausibility}) for one in languages],
    }


def _with_interval(record: Mapping[str, Any]) -> dict[str, Any]:
    value = record["plausibility"]
    return {**record, "plausibility": None if value is None else value._asdict()}
