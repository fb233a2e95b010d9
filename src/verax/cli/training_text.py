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
    "epochs": Annotated[int | None, typer.Option(help="Default: 3.", min=1)],
    "learning_rate": Annotated[float | None, typer.Option(help="Peak learning rate; default: 1e-4.")],
    "longest": Annotated[int | None, typer.Option(help="Leave out inputs with more tokens.", min=4)],
    "seed": Annotated[int | None, typer.Option(help="Default: 0.", min=0)],
}
_NLE: dict[str, Any] = {
    "setup": Annotated[str | None, typer.Option(help="mt_re, mt_ra (one model), st_re or st_ra (two).")],
    **_SHARED,
    "prompts": Annotated[str | None, typer.Option(help="A file of prompts that replaces the shipped ones.")],
    "explanations": Annotated[str | None, typer.Option(help="Learn the first (default) or all of each input.")],
    "weigh": Annotated[str | None, typer.Option(help="Equal weight in the loss: tokens (default) or pairs of texts.")],
    "measure": Annotated[int | None, typer.Option(help="Evaluate on this many inputs of a set; default: 500.", min=0)],
}
_EDITOR: dict[str, Any] = {
    **{name: option for name, option in _SHARED.items() if name != "test"},
    "labels_by": Annotated[
        str | None, typer.Option(help="Learn from the classes that this self-explaining model predicts.")
    ],
    "masks": Annotated[int | None, typer.Option(help="Pairs made of each input; default: 1.", min=1)],
}


def _train_generator(
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
    """Train a self-explaining model or an editor, and print its performance."""
    from verax.jobs.training.editor import train_editor
    from verax.jobs.training.self_explainer import train_self_explainer
    from verax.jobs.training.spec import EditorSpec, NleSpec, parse

    content = spec_content(spec, fields, {"name": data, "limit": limit}, f"verax train {command}")
    if command == "nle":
        facts = train_self_explainer(parse(NleSpec, content), folder, console=notes, announce=announce)
    else:
        facts = train_editor(parse(EditorSpec, content), folder, console=notes, announce=announce)
    if as_json:
        print_json({"model": str(folder), **facts})
        return
    for name, training in facts["trainings"].items():
        best = training["best_epoch"]
        generator = "" if name == "." else f"{name}: "
        loss = training["validation_losses"][best]
        out.print(Text(f"{generator}validation loss {loss:.4f}, epoch {best + 1} is kept"))
    for split, figures in facts.get("figures", {}).items():
        bleu = "–" if figures["bleu"] is None else f"{figures['bleu']:.2f}"
        answered = f"{figures['answered']} of {figures['inputs']} inputs answered"
        out.print(Text(f"{split}: accuracy {figures['accuracy']:.4f}, BLEU {bleu} ({answered})"), soft_wrap=True)
    out.print(Text(f"Wrote {folder}"), soft_wrap=True)


@train.command()
@with_options(_train_generator, _NLE)
def nle(**options: Any) -> None:
    """Fine-tune a text generator to answer and to explain its answer, on inputs that people explained.

    The base can be any encoder-decoder (T5, BART) or decoder (GPT-2, Llama). If it is interrupted, the same command
    continues from the last complete epoch.

    Examples: `verax train nle --setup mt_ra --base my-t5 --data esnli --out models/esnli-mt-ra`

    `verax train nle --setup st_re --base my-llama --data train.jsonl --validation dev.jsonl --out models/st-re`
    """
    _train_generator("nle", **options)


@train.command()
@with_options(_train_generator, _EDITOR)
def editor(**options: Any) -> None:
    """Fine-tune a text generator to insert words that fit a class, for the counterfactual test.

    It learns to write one to three masked words, given the class of the input. If it is interrupted, the same command
    continues from the last complete epoch.

    Examples: `verax train editor --base my-t5 --data esnli --out models/esnli-editor`

    `verax train editor --base my-t5 --data esnli --labels-by models/esnli-mt-ra --out models/esnli-editor`
    """
    _train_generator("editor", **options)
