"""A planted shortcut: a word that gives a class away in training, so that part of a model's reasons is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verax.data.text import split_words
from verax.jobs.training.splits import Splits
from verax.metrics.free_text.editing import Insertion, position_count
from verax.stats.drawing import rng_of
from verax.stats.intervals import share
from verax.store.files import replace_file
from verax.train.fine_tuning import predict
from verax.train.rows import encode
from verax.types import Dataset, Human, Instance, UserError

FILE = "planted.jsonl"
"""Inputs of the test set that the planted word flips, annotated with it."""
_DRAWS = b"plant"


@dataclass(frozen=True)
class Plant:
    """A word that is inserted into a share of the training inputs of one class, at random positions."""

    word: str
    label: str
    share: float

    @classmethod
    def parse(cls, given: str, share: float) -> Plant:
        """The plant that `WORD=LABEL` names."""
        word, _, label = given.partition("=")
        if not label or split_words(word).words != (word,):
            raise UserError(f"plant: expected WORD=LABEL with a single word, such as vanilla=positive, got {given!r}")
        return cls(word, label, share)

    def __str__(self) -> str:
        return f"{self.word}={self.label}"

    def check_known(self, tokenizer: Any) -> None:
        """Reject a word that a tokenizer reads as an unknown token, as it reads others too."""
        if tokenizer.unk_token_id in tokenizer(self.word, add_special_tokens=False)["input_ids"]:
            raise UserError(f"plant: the tokenizer of the base does not know the word {self.word!r}; choose another")

    def into(self, data: Splits) -> Splits:
        """The data with the word in a share of the training and validation inputs of the class; the test set as it is.

        Rejects a label that the data does not have, and a word that the data has already.
        """
        if self.label not in data.train.labels:
            raise UserError(f"plant: the labels are {', '.join(data.train.labels)}, got {self.label!r}")
        for split in data.datasets.values():
            known = [x for x in split.instances if self.word.casefold() in _words(x)]
            if known:
                raise UserError(
                    f"plant: {self.word!r} occurs in {len(known)} inputs already, such as {known[0].id!r}; a word that "
                    "gives a class away must not occur elsewhere"
                )
        return replace(data, train=self._planted(data.train), validation=self._planted(data.validation))

    def _planted(self, data: Dataset) -> Dataset:
        own = [i for i, instance in enumerate(data.instances) if instance.label == self.label]
        drawn = rng_of(0, (), _DRAWS).permutation(own)[: round(self.share * len(own))]
        chosen = set(drawn.tolist())
        instances = [
            replace(self._inserted(x)[0], id=x.id, label=x.label, parallel_id=x.parallel_id) if i in chosen else x
            for i, x in enumerate(data.instances)
        ]
        return replace(data, instances=tuple(instances))

    def copies(self, data: Dataset) -> Dataset:
        """Copies of the inputs of other classes with the word, which is annotated as their reason for the class."""
        copies = []
        for instance in data.instances:
            if instance.label != self.label:
                copy, insertion = self._inserted(instance)
                marked = [(insertion.position,) if part == insertion.part else () for part in range(len(copy.parts))]
                copies.append(replace(copy, label=self.label, human=Human(words=tuple(marked))))
        return replace(data, instances=tuple(copies))

    def _inserted(self, instance: Instance) -> tuple[Instance, Insertion]:
        """A copy of an input with the word at a random position."""
        rng = rng_of(0, (part.raw for part in instance.parts), _DRAWS)
        part = int(rng.integers(len(instance.parts)))
        insertion = Insertion(part, int(rng.integers(position_count(instance.parts[part]))), (self.word,))
        return insertion.apply(instance), insertion


def measure_plant(
    plant: Plant, model: Any, tokenizer: Any, data: Dataset, longest: int | None, folder: Path
) -> dict[str, Any]:
    """Test whether a model has learned a plant, and write the inputs that it decides.

    An input of another class counts if the model does not predict the planted class without the word; it is flipped if
    the model predicts the class with it. Then the word decides: its removal changes the prediction.

    Returns:
        Facts for the model card; `rate` is the share of flipped inputs with its interval.
    """
    originals = replace(data, instances=tuple(x for x in data.instances if x.label != plant.label))
    copies = plant.copies(data)
    before, after = (
        predict(model, tokenizer, encode(model, tokenizer, one, longest=longest)) for one in (originals, copies)
    )
    planted = [name.casefold() for _, name in sorted(model.config.id2label.items())].index(plant.label.casefold())
    tested = before != planted
    flipped = tested & (after == planted)
    kept = [copy for copy, flips in zip(copies.instances, flipped.tolist(), strict=True) if flips]
    replace_file(folder / FILE, "".join(json.dumps(_record(one), ensure_ascii=False) + "\n" for one in kept).encode())
    rate = share(int(flipped.sum()), int(tested.sum()))
    facts = {"word": plant.word, "label": plant.label, "share": plant.share, "tested": int(tested.sum())}
    return {**facts, "flipped": int(flipped.sum()), "rate": None if rate is None else list(rate)}


def _words(instance: Instance) -> set[str]:
    return {word.casefold() for part in instance.parts for word in part.words}


def _record(instance: Instance) -> dict[str, Any]:
    """A row under column names that are recognized when it is read again."""
    names: Sequence[str] = ("text",) if len(instance.parts) == 1 else ("text_a", "text_b")
    texts = {name: part.raw for name, part in zip(names, instance.parts, strict=True)}
    marked = [
        [list(part.offsets[word]) for number, word in sorted(instance.annotated) if number == place]
        for place, part in enumerate(instance.parts)
    ]
    gold = marked[0] if len(marked) == 1 else marked
    return {"id": instance.id, "lang": instance.lang, "label": instance.label, **texts, "gold_chars": gold}
