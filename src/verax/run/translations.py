"""Translations in a run: the reference of each input, and aligners of their words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from verax.align.embedding import Embedding
from verax.align.given import Given
from verax.align.parallel import Parallel, check_parts, text_pairs
from verax.align.protocol import TextPair
from verax.metrics.crosslingual.crosslingual_faithfulness import AlignParts
from verax.models.classifier import Classifier, Encoder
from verax.models.load import load_encoder
from verax.run.parameters import Configured, as_configured
from verax.store.keys import key_of
from verax.types import Dataset, GivenAlignment, Instance, IntArray, Links, Text, Undefined, UserError


class PlannedAlignment(NamedTuple):
    """The alignment of an input with its reference, and its key."""

    key: str
    instance: Instance
    reference: Instance


@dataclass(frozen=True)
class OpenAligner:
    """An aligner that is ready to align: its encoder is loaded, what the data says is at hand.

    Args:
        named: the aligner, by its name.
        parts: whether the parts of an input are aligned apart or as one text.
        lang: the reference language.
        encoder: whose hidden states are compared; None for aligners that need none.
        given: the alignments of the data, by the id of the instance.
        key: the hash of everything but the inputs that decides what is linked.
    """

    named: Configured[Any]
    parts: AlignParts
    lang: str
    encoder: Encoder | None
    given: Mapping[str, tuple[GivenAlignment, ...]]
    key: str

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.named.label if self.parts == "apart" else f"{self.named.label}, parts joint"

    @property
    def learns(self) -> bool:
        """Whether the links of one input hang on all the others."""
        return bool(getattr(self.named.component, "learns", False))

    def planned(
        self, instance: Instance, reference: Instance, contents: tuple[str, str], corpus: str
    ) -> PlannedAlignment:
        """The alignment of an input, `contents` being the keys of the two inputs and `corpus` that of all."""
        said = dataclasses.asdict(found) if self._is_given and (found := self._given(instance)) else None
        inputs = [*contents, corpus] if self.learns else list(contents)
        key = key_of(row="alignment", aligner=self.key, inputs=inputs, said=said)
        return PlannedAlignment(key, instance, reference)

    def align(self, planned: Sequence[PlannedAlignment]) -> Iterator[Links | Undefined]:
        """The links of each alignment in turn, over all words of an input; or why there are none."""
        pairs = [self._pairs(one) for one in planned]
        flat = [pair for group in pairs for pair in group]
        if isinstance(self.named.component, Embedding) and self.encoder is not None:
            found = self.named.component.align_with(self.encoder, flat)
        else:
            found = self.named.component.align(flat)
        for group in pairs:
            yield joined(group, [next(found) for _ in group])

    @property
    def _is_given(self) -> bool:
        return isinstance(self.named.component, Given)

    def _given(self, instance: Instance) -> GivenAlignment | None:
        return next((one for one in self.given.get(instance.id, ()) if one.lang == self.lang), None)

    def _pairs(self, planned: PlannedAlignment) -> tuple[TextPair, ...]:
        apart = text_pairs(Parallel(planned.reference, planned.instance), self.given)
        return apart if self.parts == "apart" else (_as_one(apart),)


def _as_one(pairs: Sequence[TextPair]) -> TextPair:
    """All parts as one text on either side."""
    shapes = [pair.shape for pair in pairs]
    sure: Links | None = None
    if all(pair.sure is not None for pair in pairs):
        sure = tuple(_shifted([pair.sure or () for pair in pairs], shapes))
    possible = tuple(_shifted([pair.possible for pair in pairs], shapes))
    reference = _joined_text([pair.reference for pair in pairs])
    translation = _joined_text([pair.translation for pair in pairs])
    return TextPair(reference, translation, sure, possible)


def _joined_text(parts: Sequence[Text]) -> Text:
    raw, offsets = "", []
    for part in parts:
        start = len(raw) + (1 if raw else 0)
        raw = f"{raw} {part.raw}" if raw else part.raw
        offsets += [(start + a, start + b) for a, b in part.offsets]
    return Text(raw, tuple(word for part in parts for word in part.words), tuple(offsets), parts[0].lang)


def _shifted(links: Sequence[Iterable[Sequence[int]]], shapes: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Links of each part with its words counted behind those of the parts before it."""
    first, second = 0, 0
    for part, (words, others) in zip(links, shapes, strict=True):
        yield from ((first + int(a), second + int(b)) for a, b in part)
        first, second = first + words, second + others


def joined(pairs: Sequence[TextPair], found: Sequence[IntArray | Undefined]) -> Links | Undefined:
    """The links of the parts of one input as those of the whole; why there are none, if a part has none to be had."""
    starts = np.cumsum([(0, 0), *(pair.shape for pair in pairs)], axis=0)
    whole: list[IntArray] = []
    for links, start in zip(found, starts[:-1], strict=True):
        if isinstance(links, Undefined):
            return links
        whole.append(links + start)
    return tuple((first, second) for first, second in np.concatenate(whole).tolist())


def open_aligners(metrics: Iterable[Configured[Any]], model: Classifier, data: Dataset) -> dict[str, OpenAligner]:
    """The aligner of each metric, by the metric's label; raises UserError for data without translations.

    Args:
        metrics: metrics, or requests for alignments: they have `reference_lang`, `aligner` and `align_parts`.
    """
    opened: dict[str, OpenAligner] = {}
    encoders: dict[str, Encoder] = {}
    for metric in metrics:
        _check_translations(metric, data)
        name = getattr(metric.component.aligner, "encoder", None)
        if name is not None and name not in encoders:
            device = model.about["device"]
            encoders[name] = load_encoder(name, device="cpu" if device == "unknown" else device)
        opened[metric.label] = _open(metric, model, data, cast("Encoder", model) if name is None else encoders[name])
    return opened


def _open(metric: Configured[Any], model: Classifier, data: Dataset, found: Encoder) -> OpenAligner:
    """The aligner of one metric, with the encoder that was found for it; refuse what can't be done."""
    what = metric.component
    named = as_configured("aligners", what.aligner, metric.implied)
    encoder = found if isinstance(what.aligner, Embedding) else None
    if encoder is not None and "hidden" not in encoder.capabilities:
        raise UserError(
            f"{metric.name}: the model {model.name!r} is a callable and has no hidden states to align words by; "
            "name an encoder: {aligner: {embedding: {encoder: DIR}}}"
        )
    if hasattr(what.aligner, "check"):
        what.aligner.check(encoder)
    if isinstance(what.aligner, Given) and not data.aligned:
        raise UserError(
            f"{metric.name}: aligner: given takes the word alignments of the data, and {data.name} has none (with "
            "granularity: token none can be had); use embedding, or name the column that holds them"
        )
    key = key_of(
        row="aligner",
        name=named.name,
        # where the encoder lies does not matter, what it holds does
        parameters={name: value for name, value in named.parameters.items() if name != "encoder"},
        version=what.aligner.version,
        encoder=None if encoder is None else dict(encoder.fingerprint),
        parts=what.align_parts,
        lang=what.reference_lang,
    )
    return OpenAligner(named, what.align_parts, what.reference_lang, encoder, data.aligned, key)


def _check_translations(metric: Configured[Any], data: Dataset) -> None:
    """Refuse data in which no input is there in the reference language and in another."""
    lang = metric.component.reference_lang
    langs = sorted({instance.lang for instance in data.instances})
    if lang not in langs:
        raise UserError(
            f"{metric.name}: reference_lang: got {lang!r}; the inputs of {data.name} are in {', '.join(langs)}"
        )
    if len(langs) == 1:
        raise UserError(
            f"{metric.name} compares translations, and all inputs of {data.name} are in {langs[0]!r}: give data in "
            "several languages"
        )
    known = references(data.instances, lang)
    for instance in data.instances:
        if instance.id in known:
            check_parts(Parallel(known[instance.id], instance))
    if not known:
        raise UserError(
            f"{metric.name}: no input of {data.name} shares its parallel_id with one in {lang!r}: name the column that "
            "translations share, columns: {parallel_id: ...}"
        )


def references(instances: Iterable[Instance], lang: str) -> dict[str, Instance]:
    """For each input in another language that has a translation into the reference language, that translation.

    An id that two inputs of the reference language share is the user's mistake: nobody can tell which is meant.
    """
    by_parallel: dict[str, Instance] = {}
    others: list[Instance] = []
    for instance in instances:
        if instance.parallel_id is None:
            continue
        if instance.lang == lang:
            if instance.parallel_id in by_parallel:
                name = instance.parallel_id
                raise UserError(f"data: the parallel id {name!r} is there more than once in {lang!r}: which is meant?")
            by_parallel[instance.parallel_id] = instance
        else:
            others.append(instance)
    return {other.id: by_parallel[other.parallel_id] for other in others if other.parallel_id in by_parallel}
