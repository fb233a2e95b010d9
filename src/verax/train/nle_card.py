"""The model card of a self-explaining model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verax.models.self_explainer import TrainedMethodName

_ABOUT: Mapping[TrainedMethodName, str] = {
    "mt_re": "One model answers and explains; an explanation knows nothing of the answer (MT-Re).",
    "mt_ra": "One model answers, then explains the class that it predicts (MT-Ra).",
    "st_re": "One model explains, another one answers with the explanation before it (ST-Re).",
    "st_ra": "One model explains every class, another one picks the class that its own explanation makes most probable "
    "(ST-Ra).",
}


def nle_card(name: str, facts: Mapping[str, Any]) -> str:
    """The README.md of a self-explaining model, from what its `nle.json` holds."""
    lines = [
        f"# {name}",
        "",
        f"`{facts['base']}`, fine-tuned on `{facts['data']}` by `verax train nle --setup {facts['setup']}`. "
        f"Classes: {', '.join(facts['labels'])}.",
        "",
        f"{_ABOUT[facts['setup']]} It was trained on the prompts in `prompts.txt` and understands no others. What it "
        "writes reads like a reason; whether it is the reason is what the consistency tests ask.",
        "",
        *_figures(facts),
        *training_tables(facts["sizes"], facts["trainings"], {**facts["recipe"], "weigh": facts["weigh"]}),
    ]
    return "\n".join(lines)


def _figures(facts: Mapping[str, Any]) -> list[str]:
    if not facts["figures"]:
        return []
    rows = []
    for split, one in facts["figures"].items():
        bleu = "–" if one["bleu"] is None else f"{one['bleu']:.2f}"
        rows.append(f"| {split} | {one['inputs']} | {one['answered']} | {one['accuracy']:.4f} | {bleu} |")
    return [
        "| set | inputs | answered | accuracy | BLEU |",
        "| --- | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        "An input without an answer counts as wrong. BLEU is of the whole set (sacrebleu), against all explanations "
        "that people gave of an input.",
        "",
    ]


def training_tables(
    sizes: Mapping[str, int], trainings: Mapping[str, Mapping[str, Any]], recipe: Mapping[str, Any]
) -> list[str]:
    """How each model was trained: its losses after each epoch, and the recipe."""
    lines = [f"Trained on {sizes['train']} inputs. The epoch with the lowest validation loss is kept (in bold).", ""]
    for name, one in trainings.items():
        lines += [f"{name}, {one['pairs']['train']} pairs of texts:", ""] if len(trainings) > 1 else []
        lines += ["| epoch | training loss | validation loss |", "| ---: | ---: | ---: |"]
        for epoch, losses in enumerate(zip(one["losses"], one["validation_losses"], strict=True)):
            number = f"**{epoch + 1}**" if epoch == one["best_epoch"] else str(epoch + 1)
            lines.append(f"| {number} | {losses[0]:.4f} | {losses[1]:.4f} |")
        lines.append("")
    shown = {name: value for name, value in recipe.items() if name not in {"masking", "parts"}}
    shown["longest"] = recipe["longest"] or "the model's length"
    return [*lines, "| parameter | value |", "| --- | --- |", *(f"| {n} | {v} |" for n, v in shown.items()), ""]
