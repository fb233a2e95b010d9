"""One text generator, trained on pairs of texts into a folder of its own; killed, it goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from verax.models.checkpoint import load_checkpoint, quiet
from verax.models.load import fingerprint
from verax.run.trained import FACTS, read_facts
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.train.loop import FineTuning
from verax.train.resume import FOLDER as RESUME
from verax.train.resume import Resume
from verax.train.text_pairs import Pair, Weigh, fit_pairs
from verax.types import Dataset, UserError

VERSION = 1


def check_out(out: Path) -> None:
    """Refuse a file where a folder is to be."""
    if out.exists() and not out.is_dir():
        raise UserError(f"--out: {out} is a file; name a folder")


def only_parts(sets: Sequence[Dataset]) -> int:
    """How many parts every input has; prompts are written for one number of them."""
    counts = {len(instance.parts): instance.id for one in sets for instance in one.instances}
    if not counts:
        raise UserError("data: there is no input with words in it")
    if len(counts) > 1:
        (few, one), (many, other) = sorted(counts.items())[:2]
        raise UserError(f"data: instance {one!r} has {few} part(s) and {other!r} has {many}; all need as many")
    return next(iter(counts))


def read_json(path: Path) -> dict[str, Any]:
    """The facts in a file; nothing if there is none."""
    try:
        facts = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UserError(f"{path} is damaged: {error}") from None
    return facts if isinstance(facts, dict) else {}


@dataclass(frozen=True)
class TextTraining:
    """A checkpoint to be.

    Args:
        folder: where it goes.
        base: the folder of the checkpoint that it begins with.
        name: of the base, as the user gave it.
        train, validation: what it learns, and what the best epoch is chosen on.
        recipe: how.
        device: where.
        weigh: what counts the same in the loss.
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
        """The hash of everything that decides the outcome."""
        return key_of(
            version=VERSION,
            base=fingerprint(self.base),
            recipe=asdict(self.recipe),
            train=list(self.train),
            validation=list(self.validation),
            **({} if self.weigh == "tokens" else {"weigh": self.weigh}),  # trainings of before it was known go on
        )

    @property
    def _resume(self) -> Resume:
        return Resume(self.folder / RESUME, self.key)

    def finished(self) -> bool:
        """Whether it is there; a folder that holds another model is refused, half of this one is not."""
        facts = read_facts(self.folder)
        begun = self._resume.is_begun()
        if facts.get("key") != self.key if facts else (self.folder / "config.json").exists() and not begun:
            raise UserError(f"{self.folder} already holds another model; choose another --out")
        return bool(facts)

    def run(self, console: Console) -> dict[str, Any]:
        """Train it unless it is there, and give the facts about it, which are in its `training.json` too."""
        if not self.finished():
            self._train(console)
        return read_facts(self.folder)

    def tidy(self) -> None:
        """Remove what an interrupted training goes on from; to be called when nothing is left to be done."""
        self._resume.remove()

    def _train(self, console: Console) -> None:
        model, tokenizer = load_checkpoint(self.base, self.name, "float32", self.device, "text generator")
        try:
            self._resume.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--out: {self.folder} can't be written to: {error.strerror}") from error
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
        replace_file(self.folder / FACTS, json.dumps(facts, indent=1).encode())
