"""Everything that a build needs, loaded and checked before anything is computed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from verax.run.checking import check_fit
from verax.run.highlights.choosing import check_gold
from verax.run.highlights.explaining import Asked, Explained
from verax.run.highlights.parallel import Parallel, find_parallel
from verax.run.highlights.spec import HighlightsSpec
from verax.run.opening import open_data, open_model
from verax.run.parameters import Configured, from_config
from verax.run.plan import input_key
from verax.run.translations import OpenAligner, open_aligners
from verax.store.keys import key_of
from verax.types import Dataset, UserError

VERSION = 1


@dataclass(frozen=True)
class Opened:
    """What a spec names.

    Args:
        what: the inputs in several languages, and the model that is explained on them.
        tuning: the same of the set with human highlights; None if method and threshold are given.
        candidates: the methods to choose from.
    """

    spec: HighlightsSpec
    what: Explained
    parallel: Parallel
    tuning: Explained | None
    candidates: tuple[Asked, ...]
    aligner: OpenAligner

    @classmethod
    def of(cls, spec: HighlightsSpec) -> Opened:
        """Load models and data; mistakes that need no model are told before one is loaded."""
        candidates = _candidates(spec)
        metric = from_config("metrics", across_languages(spec), spec.seed)
        data = open_data(spec.data, spec.seed)
        parallel = find_parallel(data, spec.reference)
        people = None if spec.tuning is None else open_data(spec.tuning, spec.seed)
        if people is not None:
            check_gold(people)
        model = open_model(spec.model)
        for one in candidates:
            check_fit(one.named, model)
        aligner = open_aligners([metric], model, data)[metric.label]
        tuning = None
        if people is not None and spec.tuning is not None:
            tuned = spec.tuning_model or spec.model
            other = model if tuned == spec.model else open_model(tuned)
            tuning = Explained(other, people, tuned, spec.tuning)
        return cls(spec, Explained(model, data, spec.model, spec.data), parallel, tuning, candidates, aligner)

    def identity(self) -> dict[str, Any]:
        """Everything that decides what the build gives, by the field of the spec that it comes from."""
        spec, tuning = self.spec, self.tuning
        return {
            "version": VERSION,
            "model": key_of(**self.what.model.fingerprint),
            "data": _content(self.what.data),
            "reference": spec.reference,
            "tuning": None if tuning is None else _content(tuning.data),
            "tuning_model": None if tuning is None else key_of(**tuning.model.fingerprint),
            "methods": [_identity(one.named) for one in self.candidates],
            "threshold": spec.threshold,
            "aligner": self.aligner.key,
            "sample": spec.sample,
            "seed": spec.seed,
        }


def across_languages(spec: HighlightsSpec) -> dict[str, Any]:
    """The metric that aligns the inputs of a run with those of the reference language."""
    return {"crosslingual_faithfulness": {"reference_lang": spec.reference, "aligner": spec.aligner}}


def _candidates(spec: HighlightsSpec) -> tuple[Asked, ...]:
    """The methods to choose from; the only one if it is given."""
    given = spec.methods if spec.method is None else (spec.method,)
    found = tuple(Asked(one, from_config("methods", one, spec.seed)) for one in given)
    for _, named in found:
        if named.component.kind != "token":
            raise UserError(f"methods: {named.label!r} scores no words, and highlights are words")
    return found


def _identity(named: Configured[Any]) -> list[Any]:
    return [named.name, named.parameters, named.component.version]


def _content(data: Dataset) -> str:
    """A hash of all inputs and of the alignments that came with them."""
    given = {name: [asdict(one) for one in found] for name, found in data.aligned.items()}
    return key_of(inputs=[input_key(instance) for instance in data.instances], aligned=given)
