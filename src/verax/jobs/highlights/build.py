"""`verax build-highlights` and `verax check-highlights`: choose, binarise, project, write, validate; compare.

Zaman and Belinkov 2022, A Multilingual Perspective Towards the Evaluation of Attribution Methods in Natural Language
Inference, Section 4.3.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeGuard

from rich.console import Console

from verax.data.table import read_jsonl
from verax.jobs.highlights.annotations import FOLDER as SAMPLES
from verax.jobs.highlights.annotations import CheckedSample, check_sample, sample, write_annotations
from verax.jobs.highlights.card import Built, card_text
from verax.jobs.highlights.choose import ChosenMethod, choose
from verax.jobs.highlights.dataset import (
    CARD,
    FOLDER,
    JSONL,
    part_names,
    reading_options,
    split_name,
    texts,
    write_jsonl,
    write_parquet,
)
from verax.jobs.highlights.explain import Opened, explain_parallel, explain_tuning, open_spec
from verax.jobs.highlights.project import highlighted_rows, validate
from verax.jobs.highlights.spec import HighlightsSpec
from verax.results.run import Run
from verax.store.artifact import Artifact, ArtifactRecord, read_json, write_json
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.types import UserError

KIND = "build of highlights"
RECORD = "build.json"


def build_highlights(spec: HighlightsSpec, out: Path, *, command: str, console: Console) -> Built:
    """Make a dataset with highlights; nothing is computed twice."""
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
            choice = ChosenMethod(opened.candidates[0], spec.threshold)
        else:
            raise ValueError("without a tuning set a threshold is needed: parse_highlights_spec checks it")
        run = explain_parallel(opened, choice.candidate, out / "run", **options)
        built = _write(opened, choice, run, tuned_on, out, **options)
        artifact.finish(JSONL, RECORD)
        return built


def _write(
    opened: Opened, choice: ChosenMethod, run: Run, tuned_on: Run | None, out: Path, *, command: str, console: Console
) -> Built:
    """Make the rows from explanations and links, measure their plausibility, and write all files."""
    spec, data, parallel, model = opened.spec, opened.data, opened.parallel, opened.model
    rows, left_out = highlighted_rows(parallel, choice, run, model.labels)
    languages = validate(parallel.languages, rows, left_out, run, choice.method.label, model, console)
    if not any(language.highlighted for language in languages):
        why = f"the threshold is {choice.threshold:g}" if rows else "none of them could be explained"
        raise UserError(f"no word of the {len(parallel.instances)} inputs of {data.name} is highlighted: {why}")
    names = part_names(data)
    sampled = sample(rows, spec.sample, spec.seed)
    built = Built(
        opened=opened,
        choice=choice,
        languages=languages,
        run=run.manifest,
        tuning=None if tuned_on is None else tuned_on.manifest,
        reading=reading_options(rows, names),
        sampled={lang: len(chosen) for lang, chosen in sampled.items()},
        command=command,
    )
    write_jsonl(out / JSONL, rows, names)
    write_parquet(out / FOLDER, rows, names, split_name(data))
    replace_file(out / FOLDER / CARD, card_text(built).encode())
    write_annotations(out / SAMPLES, sampled, names)
    facts = {
        "identity": opened.identity(),
        "spec": spec.model_dump(mode="json"),
        "method": {choice.method.name: choice.method.parameters},
        "threshold": choice.threshold,
        "tuned": _plain(choice.tuned),
        "languages": [_plain(language) for language in languages],
        "parts": names,
        "sample": {lang: [row.instance.id for row in chosen] for lang, chosen in sampled.items()},
    }
    write_json(out / RECORD, facts)
    return built


def _plain(value: Any) -> Any:
    """Named tuples and dataclasses as objects of JSON."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _older_record(folder: Path) -> ArtifactRecord | None:
    """The record of a build, finished or not, that is older than `artifact.json`."""
    facts = read_json(folder / RECORD)
    if facts is None:
        return None
    identity = facts.get("identity", {})
    if not isinstance(identity, dict):
        raise UserError(f"{folder / RECORD} is damaged: identity: expected an object")
    return ArtifactRecord(KIND, key_of(**identity), identity, finished="sample" in facts)


def check_highlights(folder: Path) -> list[CheckedSample]:
    """Automatic highlights compared with those that people edited, for each language that has a file."""
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
    return [check_sample(files[lang], lang, written[lang], parts) for lang in present]


def _read_sample(folder: Path) -> tuple[dict[str, list[str]], list[str]]:
    """The ids of the rows that people check, by language, and the names of the parts of an input."""
    path = folder / RECORD
    facts = read_json(path)
    if facts is None or "sample" not in facts:
        if facts is None and not (folder / "artifact.json").exists():
            raise UserError(f"{folder} holds no build of highlights: {RECORD} is missing")
        raise UserError(f"{folder}: the build is not finished; the command that started it continues")
    sample, parts = facts["sample"], facts.get("parts")
    if not isinstance(sample, dict) or not all(map(_is_strings, sample.values())):
        raise UserError(f"{path} is damaged: sample: expected a list of ids for each language")
    if not _is_strings(parts):
        raise UserError(f"{path} is damaged: parts: expected a list of names")
    return sample, parts


def _is_strings(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
