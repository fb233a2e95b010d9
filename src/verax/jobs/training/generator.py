"""One text generator, trained on pairs of texts into a folder that its caller has claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from verax.jobs.training.comparison import FACTS
from verax.models.checkpoint import load_checkpoint, quiet
from verax.models.load import fingerprint
from verax.store.artifact import read_json, write_json
from verax.store.keys import key_of
from verax.train.loop import FineTuning
from verax.train.resume import FOLDER as RESUME
from verax.train.resume import Resume
from verax.train.text_pairs import Pair, Weigh, fit_pairs

VERSION = 1


@dataclass(frozen=True)
class GeneratorTraining:
    """The training of one text generator.

    Args:
        folder: where the checkpoint goes.
        base: the folder of the checkpoint to start from.
        name: the base as the user named it.
        train, validation: the pairs to learn, and those on which the best epoch is selected.
        recipe: the settings of the optimiser.
        device: where the model is trained.
        weigh: what has equal weight in the loss.
    """

    folder: Path
    base: Path
    name: str
    train: Sequence[Pair]
    validation: Sequence[Pair]
    recipe: FineTuning
    device: str
    weigh: Weigh = "tokens"

    @cached_property
    def key(self) -> str:
        """The hash of everything that determines the weights."""
        return key_of(
            version=VERSION,
            base=fingerprint(self.base),
            recipe=asdict(self.recipe),
            train=list(self.train),
            validation=list(self.validation),
            **({} if self.weigh == "tokens" else {"weigh": self.weigh}),  # models of before there was `weigh` keep it
        )

    def facts(self) -> dict[str, Any] | None:
        """What `training.json` says about the finished checkpoint; None if it is not finished."""
        facts = read_json(self.folder / FACTS)
        return facts if facts is not None and facts.get("key") == self.key else None

    def run(self, console: Console) -> dict[str, Any]:
        """Train the generator unless it is finished, and return the facts about it."""
        return self.facts() or self._train(console)

    @property
    def files(self) -> list[Path]:
        """The files of the finished checkpoint that must not change."""
        return [self.folder / FACTS, self.folder / "config.json", *self.folder.glob("*.safetensors")]

    def remove_leftovers(self) -> None:
        """Remove the state that an interrupted training continues from, once everything is finished."""
        self._resume.remove()

    @property
    def _resume(self) -> Resume:
        return Resume(self.folder / RESUME, self.key)

    def _train(self, console: Console) -> dict[str, Any]:
        model, tokenizer = load_checkpoint(self.base, self.name, "float32", self.device, "text generator")
        trained = fit_pairs(
            model,
            tokenizer,
            self.train,
            self.validation,
            self.recipe,
            weigh=self.weigh,
            resume=self._resume,
            console=console,
        )
        with quiet():
            model.save_pretrained(self.folder)
            tokenizer.save_pretrained(self.folder)
        facts = {
            "key": self.key,
            "base": self.name,
            "recipe": asdict(self.recipe),
            "pairs": {"train": len(self.train), "validation": len(self.validation)},
            "losses": trained.losses,
            "validation_losses": trained.curves["none"],
            "best_epoch": trained.best["none"],
        }
        write_json(self.folder / FACTS, facts, allow_nan=True)  # the losses of a training that diverged
        return facts


def summary(facts: dict[str, Any]) -> dict[str, Any]:
    """What the facts of a whole model repeat of one training."""
    return {name: facts[name] for name in ("pairs", "losses", "validation_losses", "best_epoch")}
