"""Train a shipped model again: python -m verax.train.world nli --out DIR."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from verax.train.world import classifiers, generators


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the model of a recipe, and print how good it is."""
    parser = argparse.ArgumentParser(prog="python -m verax.train.world", description="Train a shipped model again.")
    parser.add_argument("recipe", choices=sorted([*classifiers.RECIPES, *generators.RECIPES]))
    parser.add_argument("--out", type=Path, required=True, help="folder of the model")
    chosen = parser.parse_args(arguments)
    make = classifiers.make if chosen.recipe in classifiers.RECIPES else generators.make
    for name, value in make(chosen.recipe, chosen.out).items():
        Console().print(f"{name}: {value:.4f}")


if __name__ == "__main__":
    main()
