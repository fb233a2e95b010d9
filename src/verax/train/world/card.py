"""The model card of a shipped model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch


def write_card(
    out: Path, name: str, about: str, purpose: str, origin: str, figures: Mapping[str, float], tables: Mapping[str, Any]
) -> None:
    """Write the README.md of a model (`tables`: parameters and their values, by the title of their table)."""
    lines = [
        f"# world-{name}",
        "",
        about,
        f"It knows the words of that corpus and nothing else; it is meant for {purpose}.",
        "",
        f"Made from {origin} by `python -m verax.train.world {name} --out DIR`:",
        "",
        *(f"- {figure}: {value:.4f}" for figure, value in figures.items()),
        "",
        f"Trained with torch {torch.__version__.partition('+')[0]} on {torch.get_num_threads()} threads.",
        "",
    ]
    for title, parameters in tables.items():
        lines += [
            f"| {title} | value |",
            "| --- | --- |",
            *(f"| {key} | {value} |" for key, value in parameters.items()),
        ]
        lines.append("")
    (out / "README.md").write_text("\n".join([*lines, "Licence: Apache-2.0."]) + "\n", encoding="utf-8")
