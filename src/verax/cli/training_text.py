"""Commands that train text generators."""
# ruff: noqa: PLC0415

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from verax.cli.app import Json, notes, out, print_json
from verax.cli.training import FIELDS, Limit, OutFolder, SpecFile, TrainOn, announce, spec_content, train, with_options

_SHARED: dict[str, Any] = {
    **{name: FIELDS[name] for name in ("base", "validation", "test", "batch_size", "device")},
    "epochs": Annotated[int | None, typer.Option(help="3 by default.", min=1)],
    "learning_rate": Annotated[float | None, typer.Option(help="Its peak; 1e-4 by default.")],
    "longest": Annotated[int | None, typer.Option(help="Leave out what has more tokens.", min=4)],
    "seed": Annotated[int | None, typer.Option(help="0 by default.", min=0)],
}
_NLE: dict[str, Any] = {
    "setup": Annotated[str | None, typer.Option(help="mt_re, mt_ra (one model), st_re or st_ra (two).")],
    **_SHARED,
    "prompts": Annotated[str | None, typer.Option(help="A file of prompts in place of those that are shipped.")],
    "explanations": Annotated[str | None, typer.Option(help="first (the default) or all of each input.")],
    "weigh": Annotated[str | None, typer.Option(help="What counts the same: tokens (the default) or pairs of texts.")],
    "measure": Annotated[int | None, typer.Option(help="Measure on so many inputs of a set; 500 by default.", min=0)],
}


_EDITOR: dict[str, Any] = {
    **{name: option for name, option in _SHARED.items() if name != "test"},
    "labels_by": Annotated[
        str | None, typer.Option(help="Learn from the classes that this self-explaining model predicts.")
    ],
    "masks": Annotated[int | None, typer.Option(help="Pairs made of each input; 1 by default.", min=1)],
}


def _carry_out(
    command: Literal["nle", "editor"],
    /,
    spec: SpecFile = None,
    *,
    folder: OutFolder,
    data: TrainOn = None,
    limit: Limit = None,
    as_json: Json = False,
    **fields: Any,
) -> None:
    """Train a text generator for a task of its own, and print what came of it."""
    from verax.run.train_text_spec import parse_editor_spec, parse_nle_spec
    from verax.run.training_editor import train_editor
    from verax.run.training_text import train_nle

    content = spec_content(spec, fields, {"name": data, "limit": limit}, f"verax train {command}")
    told: dict[str, Any] = {"console": notes, "announce": announce}
    if command == "nle":
        facts = train_nle(parse_nle_spec(content), folder, **told)
    else:
        facts = train_editor(parse_editor_spec(content), folder, **told)
    if as_json:
        print_json({"model": str(folder), **facts})
        return
    for name, one in facts["trainings"].items():
        best = one["best_epoch"]
        who = "" if name == "." else f"{name}: "
        out.print(Text(f"{who}validation loss {one['validation_losses'][best]:.4f}, epoch {best + 1} is kept"))
    for split, one in facts.get("figures", {}).items():
        bleu = "–" if one["bleu"] is None else f"{one['bleu']:.2f}"
        answered = f"{one['answered']} of {one['inputs']} inputs answered"
        out.print(Text(f"{split}: accuracy {one['accuracy']:.4f}, BLEU {bleu} ({answered})"), soft_wrap=True)
    out.print(Text(f"Wrote {folder}"), soft_wrap=True)


@train.command()
@with_options(_carry_out, _NLE)
def nle(**options: Any) -> None:
    """Fine-tune a text generator to answer and to say why, from inputs that people explained.

    Any encoder-decoder (T5, BART) or decoder (GPT-2, Llama) will do. Killed at any time, the same command goes on from
    the last whole epoch.

    Examples: `verax train nle --setup mt_ra --base my-t5 --data esnli --out models/esnli-mt-ra`

    `verax train nle --setup st_re --base my-llama --data train.jsonl --validation dev.jsonl --out models/st-re`
    """
    _carry_out("nle", **options)


@train.command()
@with_options(_carry_out, _EDITOR)
def editor(**options: Any) -> None:
    """Fine-tune a text generator to put words into an input that fit a class, for the counterfactual test.

    It learns to write one to three words that are masked, given the class of the input. Killed at any time, the same
    command goes on from the last whole epoch.

    Examples: `verax train editor --base my-t5 --data esnli --out models/esnli-editor`

    `verax train editor --base my-t5 --data esnli --labels-by models/esnli-mt-ra --out models/esnli-editor`
    """
    _carry_out("editor", **options)
