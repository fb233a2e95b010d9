"""One text generator, trained on pairs of texts into a folder that its caller has claimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from verax.jobs.training.folder import FACTS, checkpoint_files
from verax.jobs.training.spec import TextSpec
from verax.models.checkpoint import load_checkpoint
from verax.models.hf_generator import HFGenerator
from verax.models.load import checkpoint_folder, fingerprint
from verax.store.artifact import read_json, write_json
from verax.store.keys import key_of
from verax.train.resume import FOLDER as RESUME
from verax.train.resume import Resume, save_checkpoint
from verax.train.text_pairs import TrainingPair
from verax.train.text_training import SUCCESS, Weigh, fit_pairs

VERSION = 1


@dataclass(frozen=True)
class GeneratorTraining:
    """The training of one text generator.

    Args:
        train, validation: the pairs to learn, and those on which the best epoch is selected.
        success: the success rate of the generator after an epoch, which selects the best one in place of the validation
            loss; with `success_key`, the hash of everything else that determines it.
    """

    folder: Path
    spec: TextSpec
    train: Sequence[TrainingPair]
    validation: Sequence[TrainingPair]
    weigh: Weigh = "tokens"
    success: Callable[[HFGenerator], float] | None = None
    success_key: str | None = None

    @cached_property
    def base(self) -> Path:
        """The folder of the checkpoint to start from."""
        return checkpoint_folder(self.spec.base, None)

    @cached_property
    def key(self) -> str:
        """The hash of everything that determines the weights."""
        return key_of(
            version=VERSION,
            base=fingerprint(self.base),
            recipe=self.spec.recipe().as_dict(),
            train=list(self.train),
            validation=list(self.validation),
            # older models, without these, keep their key
            **({} if self.weigh == "tokens" else {"weigh": self.weigh}),
            **({} if self.success_key is None else {"success": self.success_key}),
        )

    def facts(self) -> dict[str, Any] | None:
        """The facts of the finished checkpoint; None if it is not finished."""
        facts = read_json(self.folder / FACTS)
        return facts if facts is not None and facts.get("key") == self.key else None

    def run(self, console: Console) -> dict[str, Any]:
        """Train the generator unless it is finished, and return the facts about it."""
        return self.facts() or self._train(console)

    @property
    def files(self) -> list[Path]:
        """The files of the finished checkpoint that must not change."""
        return [self.folder / FACTS, *checkpoint_files(self.folder)]

    @property
    def resume(self) -> Resume:
        """The state that an interrupted training continues from."""
        return Resume(self.folder / RESUME, self.key, self.spec.save_every)

    def _train(self, console: Console) -> dict[str, Any]:
        spec, recipe = self.spec, self.spec.recipe()
        model, tokenizer = load_checkpoint(self.base, spec.base, "float32", spec.device, "text generator")
        options: dict[str, Any] = {"weigh": self.weigh, "success": self.success, "resume": self.resume}
        options["micro_batch"] = spec.micro_batch
        trained = fit_pairs(model, tokenizer, self.train, self.validation, recipe, **options, console=console)
        save_checkpoint(model, tokenizer, self.folder)
        facts = {
            "key": self.key,
            "base": spec.base,
            "recipe": recipe.as_dict(),
            "pairs": {"train": len(self.train), "validation": len(self.validation)},
            "losses": trained.losses,
            "validation_losses": trained.curves["none"],
            "best_epoch": trained.best["none"],
            **({"success_rates": trained.curves[SUCCESS]} if SUCCESS in trained.curves else {}),
        }
        write_json(self.folder / FACTS, facts, allow_nan=True)  # losses of a training that diverged
        return facts


def summary(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of one training that the facts of the whole model repeat."""
    names = ("pairs", "losses", "validation_losses", "best_epoch", "success_rates")
    return {name: facts[name] for name in names if name in facts}
