"""How similarly a model represents translations of the same inputs: linear CKA accuracy over batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from rich.console import Console

from verax.align.parallel import Parallel, parallel_instances
from verax.engine.ask import ask_all
from verax.engine.questions import QuestionGenerator, TokenStates
from verax.models.classifier import Encoder
from verax.models.subject import Subject
from verax.registry import unknown
from verax.results.render.console import TerminalConsole
from verax.run.progress import progress_counter
from verax.stats.cka import BATCH, CANDIDATES, FEWEST, matched
from verax.types import Dataset, Estimate, FloatArray, Instance, Undefined, UserError

Pooling = Literal["mean", "first"]
"""A text is represented by the mean over the tokens of its words, or by its first token ([CLS])."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """One language of one model.

    Args:
        accuracy: how often a batch is most similar to its own translations.
        chance: the expected accuracy of a random guess.
    """

    model: str
    reference: str
    lang: str
    accuracy: Estimate
    chance: float
    batches: int
    pairs: int
    skipped: int


def representation_similarity(
    model: Encoder,
    data: Dataset,
    *,
    reference: str = "en",
    langs: Sequence[str] | None = None,
    batch: int = BATCH,
    candidates: int = CANDIDATES,
    layer: int | None = None,
    pooling: Pooling = "mean",
    seed: int = 0,
    console: Console | None = None,
) -> list[Similarity]:
    """Whether translations are similar inputs to a model (Zaman and Belinkov 2022, Appendix C, Figure 6).

    Args:
        model: from `load_model` or `load_encoder`.
        data: inputs in several languages; translations of one input share its `parallel_id`.
        reference: the language that the others are compared with.
        langs: the other languages; all by default.
        batch: inputs per batch.
        candidates: random batches in addition to the matching one.
        layer: the layer whose hidden states are compared, 0 for the embeddings; the last one by default.
        pooling: how the states of an input's tokens become one vector.
        seed: of the batches.
        console: for a progress bar.
    """
    if batch < FEWEST:
        raise UserError(f"batch: at least {FEWEST} inputs are needed, because any two are alike, got {batch}")
    if candidates < 1:
        raise UserError(f"candidates: at least 1 random batch is needed, got {candidates}")
    if pooling not in get_args(Pooling):
        raise UserError(f"pooling: {unknown('way', pooling, get_args(Pooling))}")
    pairs = {lang: parallel_instances(data, reference, lang) for lang in _others(data, reference, langs)}
    for lang, of_lang in pairs.items():
        _check_enough(f"{data.name} has {len(of_lang)} inputs in both {reference} and {lang}", len(of_lang), batch)
    originals = {pair.reference.id: pair.reference for of_lang in pairs.values() for pair in of_lang}
    total = len(originals) + sum(map(len, pairs.values()))
    result = []
    with progress_counter(
        f"reading with {Path(model.name).name}", total, console or TerminalConsole(quiet=True)
    ) as advance:
        known = representations(model, originals.values(), layer=layer, pooling=pooling, on_read=advance)
        for lang, of_lang in pairs.items():
            translations = [pair.translation for pair in of_lang]
            read = representations(model, translations, layer=layer, pooling=pooling, on_read=advance)
            both = [pair for pair in of_lang if pair.reference.id in known and pair.translation.id in read]
            counted = f"{model.name} can read {len(both)} of {len(of_lang)} inputs in both {reference} and {lang}"
            _check_enough(counted, len(both), batch)
            sides = _side(known, both, 0), _side(read, both, 1)
            match = matched(*sides, batch=batch, candidates=candidates, seed=seed)
            counts = (match.batches, len(both), len(of_lang) - len(both))
            result.append(Similarity(model.name, reference, lang, match.accuracy, match.chance, *counts))
    return result


def _others(data: Dataset, reference: str, langs: Sequence[str] | None) -> list[str]:
    """The languages that are compared with the reference, each once."""
    present = sorted({instance.lang for instance in data.instances})
    if len(present) < 2:
        raise UserError(
            f"data: {data.name} has one language only, {', '.join(present)}; translations are needed "
            "(data.columns.lang and data.columns.parallel_id of a spec name their columns)"
        )
    return list(dict.fromkeys(langs)) if langs else [lang for lang in present if lang != reference]


def _check_enough(counted: str, pairs: int, batch: int) -> None:
    if pairs < 2 * batch:
        raise UserError(f"{counted}; at least two batches of {batch}, {2 * batch}, are needed (batch sets their size)")


def _side(states: dict[str, FloatArray], pairs: Sequence[Parallel], side: int) -> FloatArray:
    return np.stack([states[pair[side].id] for pair in pairs])


def representations(
    model: Encoder,
    instances: Iterable[Instance],
    *,
    layer: int | None = None,
    pooling: Pooling = "mean",
    on_read: Callable[[], None] = lambda: None,
) -> dict[str, FloatArray]:
    """One vector for each input, shape [dimensions], by its id; inputs that the model can't read are left out.

    Args:
        layer: the layer of the hidden states, 0 for the embeddings; the last one by default.
    """
    depth = model.layers if layer is None else layer
    read: dict[str, FloatArray] = {}

    def questions() -> Iterator[tuple[str, QuestionGenerator[FloatArray]]]:
        for instance in instances:
            try:
                yield instance.id, _pooled(Subject(instance, model).encoded(), depth, pooling)
            except Undefined:
                on_read()

    ask_all(questions(), read.__setitem__, ended=on_read)
    return read


def _pooled(x: Subject, layer: int, pooling: Pooling) -> QuestionGenerator[FloatArray]:
    states: FloatArray = yield TokenStates(x, layer)
    pooled = states[0] if pooling == "first" else states[x.encoding.token_unit >= 0].mean(0)
    if not np.isfinite(pooled).all():
        raise Undefined("nonfinite", f"a hidden state of layer {layer} is not a finite number")
    return np.asarray(pooled, np.float64)
