"""Translations in a run: the reference of each input, and aligners that are ready to align."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any, NamedTuple, cast

import numpy as np

from verax.align.embedding import Embedding
from verax.align.given import Given
from verax.align.parallel import Parallel, check_same_parts, text_pairs
from verax.align.protocol import TextPair
from verax.metrics.crosslingual_faithfulness import AlignParts
from verax.models.classifier import Classifier, Encoder
from verax.models.load import device_near, load_encoder
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
    """An aligner with its loaded encoder and the alignments of the data.

    Args:
        parts: whether the parts of an input are aligned separately or as one text.
        lang: the reference language.
        encoder: the model whose hidden states are compared; None for aligners that need none.
        given: the alignments of the data, by the id of the instance.
        key: hash of everything that determines the links, except the inputs.
    """

    named: Configured[Any]
    parts: AlignParts
    lang: str
    encoder: Encoder | None
    given: Mapping[str, tuple[GivenAlignment, ...]]
    key: str

    @property
    def label(self) -> str:
        """Name in tables."""
        return self.named.label if self.parts == "apart" else f"{self.named.label}, parts joint"

    @property
    def learns(self) -> bool:
        """Whether the links of one input depend on all the others."""
        return bool(getattr(self.named.component, "learns", False))

    def planned(self, instance: Instance, reference: Instance, keys: tuple[str, str], corpus: str) -> PlannedAlignment:
        """The alignment of an input; `keys` are those of reference and input, `corpus` is that of all inputs."""
        own = next((links for links in self.given.get(instance.id, ()) if links.lang == self.lang), None)
        used = dataclasses.asdict(own) if own is not None and isinstance(self.named.component, Given) else None
        inputs = [*keys, corpus] if self.learns else list(keys)
        key = key_of(row="alignment", aligner=self.key, inputs=inputs, said=used)
        return PlannedAlignment(key, instance, reference)

    def align(self, planned: Sequence[PlannedAlignment]) -> Iterator[Links | Undefined]:
        """The links of each alignment in turn, over all words of an input; or the reason why there are none."""
        pairs = [text_pairs(Parallel(one.reference, one.instance), self.given) for one in planned]
        if self.parts == "joint":
            pairs = [(_concatenated(group),) for group in pairs]
        flat = [pair for group in pairs for pair in group]
        if isinstance(self.named.component, Embedding) and self.encoder is not None:
            links = self.named.component.align_with(self.encoder, flat)
        else:
            links = self.named.component.align(flat)
        for group in pairs:
            yield joined(group, [next(links) for _ in group])


def _concatenated(pairs: Sequence[TextPair]) -> TextPair:
    """All parts as one text on either side."""
    reference = _concatenated_text([pair.reference for pair in pairs])
    translation = _concatenated_text([pair.translation for pair in pairs])
    sure = None if any(pair.sure is None for pair in pairs) else _shifted(pairs, [pair.sure or () for pair in pairs])
    return TextPair(reference, translation, sure, _shifted(pairs, [pair.possible for pair in pairs]))


def _concatenated_text(parts: Sequence[Text]) -> Text:
    texts = list(dropwhile(lambda part: not part.raw, parts))
    starts = np.cumsum([0, *(len(text.raw) + 1 for text in texts)]).tolist()
    offsets = [(start + a, start + b) for start, text in zip(starts, texts, strict=False) for a, b in text.offsets]
    words = tuple(word for text in texts for word in text.words)
    return Text(" ".join(text.raw for text in texts), words, tuple(offsets), parts[0].lang)


def _shifted(pairs: Sequence[TextPair], links: Sequence[Links | IntArray]) -> Links:
    """Links of all parts, with the words of each part numbered after those of the parts before it."""
    starts = np.cumsum([(0, 0), *(pair.shape for pair in pairs)], axis=0)
    each = [np.reshape(part, (-1, 2)).astype(int) + start for part, start in zip(links, starts, strict=False)]
    return tuple((first, second) for first, second in np.concatenate(each).tolist())


def joined(pairs: Sequence[TextPair], links: Sequence[IntArray | Undefined]) -> Links | Undefined:
    """The links of the parts of an input as those of the whole; if a part has none, the reason why."""
    missing = next((part for part in links if isinstance(part, Undefined)), None)
    return missing or _shifted(pairs, [part for part in links if not isinstance(part, Undefined)])


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
            encoders[name] = load_encoder(name, device=device_near(model))
        opened[metric.label] = _open(metric, model, data, cast("Encoder", model) if name is None else encoders[name])
    return opened


def _open(metric: Configured[Any], model: Classifier, data: Dataset, default: Encoder) -> OpenAligner:
    """The aligner of one metric; raises UserError if it cannot align.

    Args:
        default: the encoder that the aligner names, or else the model.
    """
    component = metric.component
    named = as_configured("aligners", component.aligner, metric.implied)
    encoder = default if isinstance(component.aligner, Embedding) else None
    if encoder is not None and "hidden" not in encoder.capabilities:
        raise UserError(
            f"{metric.name}: the model {model.name!r} is a callable and has no hidden states to align words by; "
            "name an encoder: {aligner: {embedding: {encoder: DIR}}}"
        )
    if hasattr(component.aligner, "check"):
        component.aligner.check(encoder)
    if isinstance(component.aligner, Given) and not data.aligned:
        raise UserError(
            f"{metric.name}: aligner: given takes the word alignments of the data, and {data.name} has none (with "
            "granularity: token none are available); use embedding, or name the column that holds them"
        )
    key = key_of(
        row="aligner",
        name=named.name,
        # its content matters, not its path
        parameters={name: value for name, value in named.parameters.items() if name != "encoder"},
        version=component.aligner.version,
        encoder=None if encoder is None else dict(encoder.fingerprint),
        parts=component.align_parts,
        lang=component.reference_lang,
    )
    return OpenAligner(named, component.align_parts, component.reference_lang, encoder, data.aligned, key)


def _check_translations(metric: Configured[Any], data: Dataset) -> None:
    """Reject data without any input in both the reference language and another."""
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
            check_same_parts(Parallel(known[instance.id], instance))
    if not known:
        raise UserError(
            f"{metric.name}: no input of {data.name} shares its parallel_id with one in {lang!r}: name the column that "
            "translations share, columns: {parallel_id: ...}"
        )


def references(instances: Iterable[Instance], lang: str) -> dict[str, Instance]:
    """By the id of each input in another language, the same input in the reference language, if there is one.

    Raises UserError if two inputs of the reference language share a parallel id.
    """
    by_parallel: dict[str, Instance] = {}
    others: list[Instance] = []
    for instance in instances:
        if instance.parallel_id is None:
            continue
        if instance.lang == lang:
            if instance.parallel_id in by_parallel:
                name = instance.parallel_id
                raise UserError(f"data: the parallel id {name!r} occurs more than once in {lang!r}; it must be unique")
            by_parallel[instance.parallel_id] = instance
        else:
            others.append(instance)
    return {other.id: by_parallel[other.parallel_id] for other in others if other.parallel_id in by_parallel}
