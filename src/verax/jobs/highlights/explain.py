"""The explanations and alignments that highlights are made of: an ordinary run, which continues if interrupted.

This is the only file of the job that knows how a run is prepared and executed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from verax.engine.protocols import Method
from verax.jobs.highlights.spec import HighlightsSpec
from verax.models.classifier import Classifier
from verax.registry import unknown
from verax.results.run import Run
from verax.run.checking import check_fit
from verax.run.execute_run import execute_run
from verax.run.opening import open_data, open_model
from verax.run.parameters import Configured, configure, from_config
from verax.run.plan import Remaining, input_key
from verax.run.prepare import prepare
from verax.run.providers.alignment import RequestedAlignment
from verax.run.spec import Spec
from verax.run.translations import OpenAligner, open_aligners, references
from verax.store.keys import key_of
from verax.types import Dataset, Instance, UserError

VERSION = 1
NO_REFERENCE = "no_reference"
PLAUSIBILITY = "plausibility"
_FILE_NAME = re.compile(r"[^\W_][\w-]*")


class Candidate(NamedTuple):
    """A method as the spec gives it, for the spec of a run, and as it was built from that."""

    given: str | dict[str, Any]
    method: Configured[Method]


@dataclass(frozen=True)
class ParallelInputs:
    """Inputs of the reference language and their translations.

    Args:
        references: the input that each translation translates, by the id of the translation.
        left_out: number of inputs that can't be used, by language and reason.
    """

    reference: str
    instances: tuple[Instance, ...]
    references: Mapping[str, Instance]
    left_out: Mapping[str, Counter[str]]

    @property
    def languages(self) -> tuple[str, ...]:
        """The reference language, then the others in the order of the data, last those without a usable input."""
        used = (instance.lang for instance in self.instances)
        return tuple(dict.fromkeys((self.reference, *used, *self.left_out)))


@dataclass(frozen=True)
class Opened:
    """The models and data of a spec, loaded and checked before anything is computed.

    Args:
        tuning: the set with human highlights; None if method and threshold are given.
        candidates: the methods to choose from.
    """

    spec: HighlightsSpec
    model: Classifier
    data: Dataset
    parallel: ParallelInputs
    tuning_model: Classifier
    tuning: Dataset | None
    candidates: tuple[Candidate, ...]
    aligner: OpenAligner

    def identity(self) -> dict[str, Any]:
        """Everything that determines the dataset, by the field of the spec that it comes from."""
        spec, tuning = self.spec, self.tuning
        methods = [candidate.method for candidate in self.candidates]
        return {
            "version": VERSION,
            "model": key_of(**self.model.fingerprint),
            "data": _content(self.data),
            "reference": spec.reference,
            "tuning": None if tuning is None else _content(tuning),
            "tuning_model": None if tuning is None else key_of(**self.tuning_model.fingerprint),
            "methods": [[method.name, method.parameters, method.component.version] for method in methods],
            "threshold": spec.threshold,
            "aligner": self.aligner.key,
            "sample": spec.sample,
            "seed": spec.seed,
        }


def open_spec(spec: HighlightsSpec) -> Opened:
    """Load models and data; invalid input that needs no model is reported before one is loaded."""
    candidates = _candidates(spec)
    alignment = configure("aligner", RequestedAlignment, _alignment(spec), spec.seed)
    data = open_data(spec.data, spec.seed)
    parallel = find_parallel(data, spec.reference)
    tuning = None if spec.tuning is None else open_data(spec.tuning, spec.seed)
    if tuning is not None:
        _check_human_highlights(tuning)
    model = open_model(spec.model)
    for candidate in candidates:
        check_fit(candidate.method, model)
    aligner = open_aligners([alignment], model, data)[alignment.label]
    other = spec.tuning_model if tuning is not None and spec.tuning_model != spec.model else None
    tuning_model = model if other is None else open_model(other)
    return Opened(spec, model, data, parallel, tuning_model, tuning, candidates, aligner)


def explain_tuning(opened: Opened, tuning: Dataset, folder: Path, **options: Any) -> Run:
    """Explain the tuning set by every candidate, and measure the plausibility of the explanations."""
    spec = opened.spec
    sections = {"model": spec.tuning_model or spec.model, "data": spec.tuning, "metrics": [PLAUSIBILITY]}
    return _explain(folder, sections, opened.tuning_model, tuning, opened.candidates, spec.seed, **options)


def explain_parallel(opened: Opened, candidate: Candidate, folder: Path, **options: Any) -> Run:
    """Explain the inputs in every language by one method, and align translations with their references."""
    spec, data = opened.spec, replace(opened.data, instances=opened.parallel.instances)
    sections = {"model": spec.model, "data": spec.data, "products": [{"alignment": _alignment(spec)}]}
    return _explain(folder, sections, opened.model, data, [candidate], spec.seed, **options)


def _explain(
    folder: Path,
    sections: Mapping[str, Any],
    model: Classifier,
    data: Dataset,
    candidates: Sequence[Candidate],
    seed: int,
    *,
    command: str,
    console: Console,
) -> Run:
    """Execute a run, or continue it; warnings are printed."""
    spec = Spec(**sections, methods=tuple(candidate.given for candidate in candidates), seed=seed)
    methods = candidates[0].method.label if len(candidates) == 1 else f"{len(candidates)} methods"

    def announce(remaining: Remaining, *_: Any) -> None:
        done = f"already done: {remaining.done} of {remaining.rows} rows"
        console.print(Text(f"{data.name}: {len(data)} inputs by {methods}; {done}"), soft_wrap=True)

    prepared = prepare(spec, model, data)
    run = execute_run(prepared, folder, command=command, console=console, announce=announce)
    for warning in run.manifest.warnings:
        console.print(Text(f"warning: {warning}", "yellow"), soft_wrap=True)
    return run


def _alignment(spec: HighlightsSpec) -> dict[str, Any]:
    """The alignment that a run computes: of all inputs with those of the reference language."""
    return {"reference_lang": spec.reference, "aligner": spec.aligner}


def _candidates(spec: HighlightsSpec) -> tuple[Candidate, ...]:
    """The methods to choose from; only one if it is given."""
    given = spec.methods if spec.method is None else (spec.method,)
    candidates = tuple(Candidate(one, from_config("methods", one, spec.seed)) for one in given)
    for _, method in candidates:
        if method.component.kind != "token":
            raise UserError(f"methods: {method.label!r} does not score words, and highlights are words")
    return candidates


def _check_human_highlights(data: Dataset) -> None:
    """Refuse a tuning set without human highlights."""
    human = (instance.human for instance in data.instances if instance.human is not None)
    if not any(any(one.words or ()) or one.span_pairs for one in human):
        raise UserError(
            f"tuning: none of the {len(data)} inputs of {data.name} has human highlights; tuning.columns.gold_words "
            "(or gold_mask, gold_spans, gold_chars) names their column"
        )


def _content(data: Dataset) -> str:
    """A hash of all inputs and of the alignments that came with them."""
    given = {name: [asdict(alignment) for alignment in found] for name, found in data.aligned.items()}
    return key_of(inputs=[input_key(instance) for instance in data.instances], aligned=given)


def find_parallel(data: Dataset, reference: str) -> ParallelInputs:
    """Pair the inputs of a dataset with those of its reference language by their parallel ids."""
    _check_languages(data, reference)
    known = references(data.instances, reference)
    if not known:
        raise UserError(
            f"data: no input of {data.name} in another language shares its parallel id with one in {reference!r}, "
            "so nothing can be projected"
        )
    left_out: dict[str, Counter[str]] = {}
    instances = []
    for instance in data.instances:
        if instance.lang == reference or instance.id in known:
            instances.append(instance)
        else:
            left_out.setdefault(instance.lang, Counter())[NO_REFERENCE] += 1
    return ParallelInputs(reference, tuple(instances), known, left_out)


def _check_languages(data: Dataset, reference: str) -> None:
    """Refuse data without parallel ids, different numbers of parts, and languages that can't be a file name."""
    languages = list(dict.fromkeys(instance.lang for instance in data.instances))
    if all(instance.parallel_id is None for instance in data.instances):
        raise UserError(
            f"data: no input of {data.name} has a parallel id, which translations share; columns.parallel_id names the "
            "column, columns.lang that of the language"
        )
    if reference not in languages:
        raise UserError(f"reference: {unknown('language', reference, languages)}")
    counts = sorted({len(instance.parts) for instance in data.instances})
    if len(counts) > 1:
        raise UserError(f"data: inputs have {counts[0]} to {counts[-1]} parts; highlights need equally many in each")
    for lang in languages:
        if not _FILE_NAME.fullmatch(lang):
            raise UserError(f"data: the language {lang!r} can't be a file name: use letters, digits, - and _")
