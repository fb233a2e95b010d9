"""`verax build-highlights` and `verax check-highlights`: choose, binarise, project, write, validate; compare.

Zaman and Belinkov 2022, A Multilingual Perspective Towards the Evaluation of Attribution Methods in Natural Language
Inference, Section 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeGuard

from rich.console import Console

from verax.data.table import read_jsonl
from verax.jobs.highlights.annotations import FOLDER as SAMPLES
from verax.jobs.highlights.annotations import Checked, check_file, sample, write_annotations
from verax.jobs.highlights.card import Making, card_text
from verax.jobs.highlights.choose import Choice, choose
from verax.jobs.highlights.dataset import (
    CARD,
    FOLDER,
    JSONL,
    part_names,
    reading,
    split_name,
    texts,
    write_jsonl,
    write_parquet,
)
from verax.jobs.highlights.explain import Opened, explain_parallel, explain_tuning, open_spec
from verax.jobs.highlights.project import Language, highlighted_rows, validate
from verax.jobs.highlights.spec import HighlightsSpec
from verax.results.run import Run
from verax.store.artifact import Artifact, Record, read_json, write_json
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.types import UserError

KIND = "build of highlights"
RECORD = "build.json"


@dataclass(frozen=True)
class Built:
    """A finished build: the choice, each language, how to read the data again, and the sizes of the samples."""

    choice: Choice
    languages: tuple[Language, ...]
    reading: Mapping[str, Any]
    sampled: Mapping[str, int]


def build_highlights(spec: HighlightsSpec, out: Path, *, command: str, console: Console) -> Built:
    """Make a dataset with highlights; nothing is computed twice.

    Args:
        out: the folder of the dataset and of the runs it is made from.
        command: the command line that reproduces it.
        console: for progress and notices.
    """
    opened = open_spec(spec)
    identity = opened.identity()
    # before the dataset is written another recipe may use what the runs hold
    artifact = Artifact(out, KIND, key_of(**identity), identity, _older_record, bound_by=(JSONL, SAMPLES))
    with artifact.claim():
        options: dict[str, Any] = {"command": command, "console": console}
        tuned_on = None
        if opened.tuning is not None:
            tuned_on = explain_tuning(opened, opened.tuning, out / "tuning", **options)
            choice = choose(opened, tuned_on)
        elif spec.threshold is not None:
            choice = Choice(opened.candidates[0], spec.threshold)
        else:
            raise ValueError("without a tuning set a threshold is needed: parse_highlights_spec checks it")
        run = explain_parallel(opened, choice.candidate, out / "run", **options)
        built = _write(opened, choice, run, tuned_on, out, **options)
        artifact.finish(JSONL, RECORD)
        return built


def _write(
    opened: Opened, choice: Choice, run: Run, tuned_on: Run | None, out: Path, *, command: str, console: Console
) -> Built:
    """Make the rows from explanations and links, measure their plausibility, and write all files."""
    spec, data, parallel, model = opened.spec, opened.data, opened.parallel, opened.model
    rows, left_out = highlighted_rows(parallel, choice, run, model.labels)
    languages = validate(parallel.languages, rows, left_out, run, choice.method.label, model, console)
    if not any(language.highlighted for language in languages):
        why = f"the threshold is {choice.threshold:g}" if rows else "none of them could be explained"
        raise UserError(f"no word of the {len(parallel.instances)} inputs of {data.name} is highlighted: {why}")
    names, split = part_names(data), split_name(data)
    sampled = sample(rows, spec.sample, spec.seed)
    making = Making(
        data=data,
        reference=parallel.reference,
        choice=choice,
        languages=languages,
        run=run.manifest,
        tuning=None if tuned_on is None else tuned_on.manifest,
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
    facts = {"identity": opened.identity(), **_facts(spec, choice, languages), "parts": names, "sample": ids}
    write_json(out / RECORD, facts)
    return Built(choice, languages, making.reading, {lang: len(some) for lang, some in sampled.items()})


def _facts(spec: HighlightsSpec, choice: Choice, languages: tuple[Language, ...]) -> dict[str, Any]:
    """What was chosen and measured, for programs."""
    tuned: dict[str, Any] | None = None
    if choice.tuned is not None:
        tuned = {
            **choice.tuned._asdict(),
            "candidates": [_with_interval(candidate._asdict()) for candidate in choice.tuned.candidates],
            "overlap": choice.tuned.overlap._asdict(),
        }
    return {
        "spec": spec.model_dump(mode="json"),
        "method": {choice.method.name: choice.method.parameters},
        "threshold": choice.threshold,
        "tuned": tuned,
        "languages": [_with_interval({**asdict(one), "plausibility": one.plausibility}) for one in languages],
    }


def _with_interval(facts: Mapping[str, Any]) -> dict[str, Any]:
    value = facts["plausibility"]
    return {**facts, "plausibility": None if value is None else value._asdict()}


def _older_record(folder: Path) -> Record | None:
    """The record of a build, finished or not, from before there was `artifact.json`."""
    facts = read_json(folder / RECORD)
    if facts is None:
        return None
    identity = facts.get("identity", {})
    if not isinstance(identity, dict):
        raise UserError(f"{folder / RECORD} is damaged: identity: expected an object")
    return Record(KIND, key_of(**identity), identity, finished="sample" in facts)


def check_highlights(folder: Path) -> list[Checked]:
    """Automatic highlights compared with those that people edited, for each language whose file is there."""
    sample, parts = _read_sample(folder)
    language = {name: lang for lang, ids in sample.items() for name in ids}
    if not (folder / JSONL).is_file():
        raise UserError(f"{folder / JSONL} is missing; the command that built it makes it again")
    written: dict[str, dict[str, Any]] = {lang: {} for lang in sample}
    for row in read_jsonl(folder / JSONL):
        name = str(row.cells.get("id"))
        if name in language:
            written[language[name]][name] = texts(row, parts)
    files = {lang: folder / SAMPLES / f"{lang}.tsv" for lang in written}
    present = [lang for lang, path in files.items() if path.exists()]
    if not present:
        raise UserError(f"{folder / SAMPLES} has none of the files that were written there for people to edit")
    return [check_file(files[lang], lang, written[lang], parts) for lang in present]


def _read_sample(folder: Path) -> tuple[dict[str, list[str]], list[str]]:
    """The ids of the rows that people check, by language, and the names of the parts of an input."""
    path = folder / RECORD
    facts = read_json(path)
    if facts is None or "sample" not in facts:
        if facts is None and not (folder / "artifact.json").exists():
            raise UserError(f"{folder} holds no build of highlights: there is no {RECORD}")
        raise UserError(f"{folder}: the build is not finished; the command that started it continues")
    sample, parts = facts["sample"], facts.get("parts")
    if not isinstance(sample, dict) or not all(map(_is_strings, sample.values())):
        raise UserError(f"{path} is damaged: sample: expected a list of ids for each language")
    if not _is_strings(parts):
        raise UserError(f"{path} is damaged: parts: expected a list of names")
    return sample, parts


def _is_strings(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
