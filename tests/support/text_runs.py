"""Small runs over free-text explanations: inputs, word lists, a model that follows a rule, and how they are run."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from support.rigged import NLI, Rigged
from verax.models.self_explainer import FACTS, PROMPTS
from verax.models.wording import shipped_wording
from verax.results.run import Run
from verax.run import execute_run as driver
from verax.run.prepare import Prepared, prepare
from verax.run.spec import parse_spec

PAIRS = (
    ("The gardener waters a rose.", "A woman sleeps.", "neutral"),
    ("A dog chases the ball.", "The dog runs.", "entailment"),
    ("Two men fix a car.", "A man reads a book.", "contradiction"),
    ("The baker sells bread.", "A shop is open.", "neutral"),
    ("A boat crosses the lake.", "The boat moves.", "entailment"),
    ("The child paints a wall.", "Nobody paints.", "contradiction"),
)
WORD = "crimson"
"""What decides: with it in the input, the class is another one."""


def decides(prompt: str) -> str:
    return "contradiction" if WORD in prompt else "neutral"


def names_it(prompt: str) -> str:
    return f"it is {WORD}" if WORD in prompt else "nothing is said of it"


def rule() -> Rigged:
    return Rigged(decides, names_it)


def write_data(file: Path, pairs: Sequence[tuple[str, str, str]] = PAIRS) -> Path:
    rows = (
        {"premise": premise, "hypothesis": hypothesis, "label": label, "explanation": "nothing is said of it"}
        for premise, hypothesis, label in pairs
    )
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def write_words(folder: Path) -> Path:
    """A WordNet of three adjectives and two adverbs."""
    folder.mkdir(exist_ok=True)
    for file, kind, words in (("data.adj", "a", (WORD, "tall", "wide")), ("data.adv", "r", ("often", "never"))):
        lines = [f"{number:08} 00 {kind} 01 {word} 0 000 | none\n" for number, word in enumerate(words)]
        (folder / file).write_text("".join(lines))
    return folder


def write_model(home: Path, setup: str | None = "mt_ra", labels: Sequence[str] = NLI) -> Path:
    """The folder of a trained model, without its weights; None: of one that follows instructions."""
    home.mkdir(exist_ok=True)
    if setup is not None:
        facts = {"setup": setup, "labels": list(labels), "explainer": ".", "predictor": "."}
        (home / FACTS).write_text(json.dumps(facts))
        (home / PROMPTS).write_text(shipped_wording("trained", labels, 2).text)
    return home


def counterfactual(place: Path, **editor: Any) -> dict[str, Any]:
    """The counterfactual test, by a random editor that knows few words; three edits at two places of each part.

    The unedited input is not asked again, so that an endpoint is asked for nothing twice.
    """
    own = {"positions": 4, "candidates": 3, "wordnet": str(write_words(place / "wordnet")), **editor}
    return {"counterfactual_test": {"editor": {"random": own}, "noise": 2, "repeats": 0}}


def content(place: Path, **changes: Any) -> dict[str, Any]:
    """A spec: a trained model, the pairs, both tests and BLEU."""
    spec = {
        "model": str(write_model(place / "model")),
        "data": str(write_data(place / "pairs.jsonl")),
        "metrics": [counterfactual(place), "reconstruction_test", "bleu"],
        **changes,
    }
    return {name: value for name, value in spec.items() if value is not None}


def prepared(given: dict[str, Any]) -> Prepared:
    return prepare(parse_spec(given))


def execute_run(given: dict[str, Any], folder: Path) -> Run:
    """The run, in silence."""
    quiet = Console(file=io.StringIO())
    return driver.execute_run(prepared(given), folder, command="verax run", console=quiet)
