"""The explanations that highlights are made of: an ordinary run, which goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from verax.engine.protocols import Method
from verax.models.classifier import Classifier
from verax.results.run import Run
from verax.run.execute_run import execute_run
from verax.run.parameters import Configured
from verax.run.plan import Remaining
from verax.run.prepare import prepare
from verax.run.spec import DataSpec, ModelSpec, parse_spec
from verax.types import Dataset


class Asked(NamedTuple):
    """A method as a person wrote it, which a run is told, and as it was built from that."""

    given: str | dict[str, Any]
    named: Configured[Method]


@dataclass(frozen=True)
class Explained:
    """Inputs and the model that is explained on them, with the sections of the spec that name them."""

    model: Classifier
    data: Dataset
    model_spec: ModelSpec
    data_spec: DataSpec


def explain_into(
    folder: Path,
    what: Explained,
    methods: Sequence[Asked],
    metric: str | dict[str, Any],
    *,
    seed: int,
    command: str,
    console: Console,
) -> Run:
    """Explain every input by every method and measure the explanations by a metric; what is there already stays.

    What the run warns of is told on the console.
    """
    spec = parse_spec(
        {
            "model": what.model_spec.model_dump(),
            "data": what.data_spec.model_dump(),
            "methods": [one.given for one in methods],
            "metrics": [metric],
            "seed": seed,
        }
    )
    prepared = prepare(spec, what.model, what.data)

    def announce(left: Remaining, *_: Any) -> None:
        by = methods[0].named.label if len(methods) == 1 else f"{len(methods)} methods"
        done = f"done already: {left.done} of {left.rows} rows"
        console.print(Text(f"{what.data.name}: {len(what.data)} inputs by {by}; {done}"), soft_wrap=True)

    run = execute_run(prepared, folder, command=command, console=console, announce=announce)
    for warning in run.card["warnings"]:
        console.print(Text(f"warning: {warning}", "yellow"), soft_wrap=True)
    return run
