"""Agents that learn to name the class that a model names: what they are taught, and what they answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.train.agent_start import Start
from verax.train.fine_tuning import fit_rows
from verax.train.loop import FineTuning
from verax.train.measure import predicted
from verax.train.resume import Resume
from verax.train.rows import encode
from verax.types import Dataset, Instance, Text, UserError

VERSION = 1


class Shown(NamedTuple):
    """What an agent gets to read of an instance, part by part, and the class that the model names for it."""

    texts: tuple[str, ...]
    named: str


class Lessons(NamedTuple):
    """What an agent learns from, what its best epoch is chosen on, and what it is asked about at the end."""

    train: tuple[Shown, ...]
    dev: tuple[Shown, ...]
    held_out: tuple[Shown, ...]


@dataclass(frozen=True)
class Agent:
    """One agent: from where, by which recipe, on what. Two that agree in all of it are one and the same.

    Args:
        folder: holds the answers of finished agents, and the state of one on its way.
    """

    start: Start
    recipe: FineTuning
    lessons: Lessons
    folder: Path

    @cached_property
    def key(self) -> str:
        """The hash of everything that decides its answers."""
        lessons = [[[list(one.texts), one.named] for one in part] for part in self.lessons]
        recipe = asdict(self.recipe)
        return key_of(version=VERSION, start=self.start.key, recipe=recipe, labels=self.start.labels, lessons=lessons)

    def answers(self) -> tuple[int, ...] | None:
        """The class, by its number among the model's, that it named for each held-out text; None: not trained yet."""
        try:
            kept = json.loads(self._answers.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise UserError(f"{self._answers} is damaged ({error}); remove it, and its agent is trained anew") from None
        return tuple(kept["named"])

    def train(self, on_epoch: Callable[[int], None] = lambda _: None) -> None:
        """Learn, answer, and keep the answers alone; what a killed training left is gone on from.

        Args:
            on_epoch: told how many epochs are done, after each and when a training goes on.
        """
        model, tokenizer = self.start.load(self.recipe.seed)
        rows = [encode(model, tokenizer, _dataset(part, self.start.labels)) for part in self.lessons]
        resume = _Watched(self._resume.folder, self.key, on_epoch)
        silent = Console(quiet=True)
        trained, _ = fit_rows(
            model, tokenizer, rows[0], rows[1], "macro_f1", self.recipe, resume=resume, console=silent
        )
        names = model.config.id2label
        named = [self.start.labels.index(names[number]) for number in predicted(model, tokenizer, rows[2]).tolist()]
        kept = {"named": named, "best_epoch": trained.best["none"], "dev_macro_f1": trained.curves["none"]}
        replace_file(self._answers, json.dumps(kept).encode())
        self.forget_state()

    def forget_state(self) -> None:
        """Remove the weights that a finished training leaves."""
        self._resume.remove()

    @property
    def _answers(self) -> Path:
        return self.folder / f"{self.key}.json"

    @property
    def _resume(self) -> Resume:
        return Resume(self.folder / f"{self.key}.resume", self.key)


@dataclass(frozen=True, eq=False)
class _Watched(Resume):
    """Tells how many epochs are done."""

    on_epoch: Callable[[int], None]

    def save(self, model: Any, optimiser: Any, facts: Mapping[str, Any]) -> None:
        super().save(model, optimiser, facts)
        self.on_epoch(int(facts["epoch"]) + 1)

    def load(self, model: Any, optimiser: Any) -> dict[str, Any] | None:
        facts = super().load(model, optimiser)
        if facts is not None:
            self.on_epoch(int(facts["epoch"]) + 1)
        return facts


def _dataset(part: Sequence[Shown], labels: Sequence[str]) -> Dataset:
    """What is shown as instances to be encoded; their label is the model's class, and they know no other."""
    shown = (tuple(Text(text, (), ()) for text in one.texts) for one in part)
    instances = (Instance(str(i), texts, one.named) for i, (one, texts) in enumerate(zip(part, shown, strict=True)))
    return Dataset("what the agents are shown", tuple(instances), tuple(labels))
