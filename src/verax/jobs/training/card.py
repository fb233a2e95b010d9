"""Model cards of trained models, from the facts that are stored with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verax.models.self_explainer import TrainedMethodName
from verax.results.figure import AnyMark, Figure, Line, Panel, Point, Rule, Scale, Series
from verax.results.render.markup import tag
from verax.results.render.numbers import MISSING, estimate
from verax.results.render.svg import figure_svg
from verax.train.rows import SELECTION_NAMES, Selection
from verax.types import Estimate, Performance

_STYLE = "path{fill:none;stroke-width:2}.grid{stroke:#ddd}.rule{stroke:#999;stroke-dasharray:5 3}"
_STYLE += ".tick{fill:#333;font:11px sans-serif}"
_STYLE += "".join(
    f".line.s{number},.mark.s{number}{{stroke:{colour}}}.mark.s{number}{{fill:{colour}}}"
    for number, colour in enumerate(("#1b5e9e", "#b35806", "#5a5a5a"))
)
"""What the style sheet of a report says about a figure, for a picture on its own."""
_SELECTED_ON: dict[Selection, str] = {
    "none": "the validation set",
    "masking": "a masked copy of the validation set",
    "both": "the validation set and a masked copy of it",
}
_SETTINGS: Mapping[TrainedMethodName, str] = {
    "mt_re": "One model answers and explains; an explanation knows nothing of the answer (MT-Re).",
    "mt_ra": "One model answers, then explains the class that it predicts (MT-Ra).",
    "st_re": "One model explains, another one answers with the explanation before it (ST-Re).",
    "st_ra": "One model explains every class, another one picks the class that its own explanation makes most probable "
    "(ST-Ra).",
}


def classifier_card(name: str, labels: Sequence[str], facts: Mapping[str, Any]) -> str:
    """The README.md of a classifier, from its `training.json`."""
    recipe, metric, select, figures = facts["recipe"], facts["metric"], facts["select"], facts["figures"]
    command = "plain" if recipe["masking"] == select == "none" else "masked"
    rows = [
        [
            f"{split} ({facts['sizes'][split]})" if split in facts["sizes"] else split,
            *(_number(values[field]) for field in ("unmasked", "fully_masked", "majority")),
        ]
        for split, values in figures.items()
    ]
    columns = {"training loss": facts["losses"]} | {SELECTION_NAMES[key]: v for key, v in facts["curves"].items()}
    lines = [
        f"# {name}",
        "",
        f"`{facts['base']}`, fine-tuned on `{facts['data']}` by `verax train {command}`. Classes: {', '.join(labels)}.",
        "",
        _advice(recipe["masking"]),
        "",
        *_table([f"{metric} on", "unmasked", "everything masked", "most frequent class"], rows),
        *_languages(metric, figures),
        *_planted(facts.get("planted")),
        f"Trained on {facts['sizes']['train']} instances, {len(facts['losses'])} epochs. Epoch "
        f"{facts['best_epoch'] + 1} is kept, the first with the best {metric} on {_SELECTED_ON[select]}.",
        "",
        f"![{metric} on the validation set after each epoch](curves.svg)",
        "",
        *_epochs(columns, facts["best_epoch"]),
        *_parameters({**recipe, "on_long": facts.get("on_long", "truncate")}),
        *_left_out(facts.get("left_out", {})),
    ]
    return "\n".join(lines)


def _left_out(counts: Mapping[str, int]) -> list[str]:
    """A line on the instances that were not used, if there are any."""
    reasons = ", ".join(f"{reason}: {count}" for reason, count in counts.items())
    return [f"Left out of all sets: {reasons}.", ""] if reasons else []


def _advice(masking: str) -> str:
    if masking == "none":
        return (
            "No input was masked in training. Masked inputs may be out of its distribution: measure explanations of it "
            "by masking only where `in_distribution` allows it."
        )
    share = "Half of every mini-batch was" if masking == "half" else "All inputs were"
    return (
        f"{share} masked in training, at rates from 0 to 100 %, so that masking words, to measure explanations, is "
        "meant to stay in its distribution. `in_distribution` tests whether it does."
    )


def _languages(metric: str, figures: Mapping[str, Any]) -> list[str]:
    """The table of languages, if there are several."""
    by_split = {split: values["languages"] for split, values in figures.items() if values["languages"]}
    langs = sorted({lang for languages in by_split.values() for lang in languages})
    rows = [[lang, *(_number(languages.get(lang)) for languages in by_split.values())] for lang in langs]
    return _table([f"{metric} in", *by_split], rows) if rows else []


def _planted(facts: Mapping[str, Any] | None) -> list[str]:
    """What was planted, and whether it was learned."""
    return [] if facts is None else [planted_line(facts), ""]


def planted_line(facts: Mapping[str, Any]) -> str:
    """Where a word was planted, and the share of predictions that it flips."""
    rate = "" if facts["rate"] is None else f": {estimate(Estimate(*facts['rate']))}"
    return (
        f"Planted shortcut: the word {facts['word']!r} was inserted into {facts['share']:.0%} of the training inputs "
        f"of the class {facts['label']!r}. Inserted into {facts['tested']} other inputs, it flips "
        f"{facts['flipped']} predictions to that class{rate}."
    )


def nle_card(name: str, facts: Mapping[str, Any]) -> str:
    """The README.md of a self-explaining model, from its `nle.json`."""
    lines = [
        f"# {name}",
        "",
        f"`{facts['base']}`, fine-tuned on `{facts['data']}` by `verax train nle --setup {facts['setup']}`. "
        f"Classes: {', '.join(facts['labels'])}.",
        "",
        f"{_SETTINGS[facts['setup']]} It was trained on the prompts in `prompts.txt` and understands no others. Its "
        "texts read like reasons; the consistency tests measure whether they are.",
        "",
    ]
    if facts["figures"]:
        rows = [
            [split, values["inputs"], values["answered"], _number(values["accuracy"]), _number(values["bleu"], 2)]
            for split, values in facts["figures"].items()
        ]
        lines += [
            *_table(["set", "inputs", "answered", "accuracy", "BLEU"], rows),
            "An input without an answer counts as wrong. BLEU is computed over the whole set (sacrebleu), against all "
            "human explanations of an input.",
            "",
        ]
    return "\n".join([*lines, *_trainings(facts, {**facts["recipe"], "weigh": facts["weigh"]})])


def editor_card(name: str, facts: Mapping[str, Any]) -> str:
    """The README.md of an editor, from its `editor.json`."""
    source = "of the data" if facts["labels_by"] is None else f"that `{facts['labels_by']}` predicts"
    lines = [
        f"# {name}",
        "",
        f"`{facts['base']}`, fine-tuned on `{facts['data']}` by `verax train editor`. It inserts one to three words "
        f"that fit a class into an input: {', '.join(facts['labels'])}. It learned to write masked words, given the "
        f"class {source}.",
        "",
        f"Its prompt is `{facts['prompt']}`, where `{facts['mark']}` is the place of the words.",
        "",
        *_trainings(facts, facts["recipe"]),
    ]
    return "\n".join(lines)


def _trainings(facts: Mapping[str, Any], recipe: Mapping[str, Any]) -> list[str]:
    """The losses of each text generator after each epoch, and the recipe."""
    inputs, trainings = facts["sizes"]["train"], facts["trainings"]
    rated = any("success_rates" in training for training in trainings.values())
    best = "highest success rate: the share of its edits that flip the model" if rated else "lowest validation loss"
    lines = [f"Trained on {inputs} inputs. The epoch with the {best} is kept (in bold).", ""]
    for name, training in trainings.items():
        lines += [f"{name}, {training['pairs']['train']} pairs of texts:", ""] if len(trainings) > 1 else []
        columns = {"training loss": training["losses"], "validation loss": training["validation_losses"]}
        columns |= {"success rate": training["success_rates"]} if rated else {}
        lines += _epochs(columns, training["best_epoch"])
    return [*lines, *_parameters({name: value for name, value in recipe.items() if name not in {"masking", "parts"}})]


def _epochs(columns: Mapping[str, Sequence[float]], best: int) -> list[str]:
    """A row for each epoch, the best one in bold."""
    rows = [
        [f"**{epoch + 1}**" if epoch == best else epoch + 1, *map(_number, values)]
        for epoch, values in enumerate(zip(*columns.values(), strict=True))
    ]
    return _table(["epoch", *columns], rows, first="---:")


def _parameters(recipe: Mapping[str, Any]) -> list[str]:
    unset = {"parts": "all", "longest": "the model's length"}
    rows = [(name, unset.get(name, "none") if value is None else value) for name, value in recipe.items()]
    return ["| parameter | value |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows), ""]


def _table(head: Sequence[str], rows: Sequence[Sequence[object]], first: str = "---") -> list[str]:
    """A table in Markdown whose columns after the first are numbers, and an empty line."""
    ruler = [first, *["---:"] * (len(head) - 1)]
    return [*(f"| {' | '.join(map(str, cells))} |" for cells in (head, ruler, *rows)), ""]


def _number(value: float | None, digits: int = 4) -> str:
    return MISSING if value is None else f"{value:.{digits}f}"


def curves_figure(curves: Mapping[str, Sequence[float]], metric: Performance, best: int) -> Figure:
    """Validation performance after each epoch."""
    names = [SELECTION_NAMES[name] for name in curves]
    marks: list[AnyMark] = [Rule("x", best + 1, "the epoch that is kept")]
    for number, (name, curve) in enumerate(zip(names, curves.values(), strict=True)):
        epochs = tuple(float(epoch) for epoch in range(1, len(curve) + 1))
        last = Point(number, Estimate(epochs[-1]), Estimate(curve[-1]), name)
        marks += [Line(number, epochs, tuple(map(Estimate, curve))), last]
    title = f"{metric} on the validation set after each epoch"
    panel = Panel(title, Scale("epoch (dashed: the one kept)"), Scale(metric), tuple(marks))
    return Figure("curves", title, tuple(map(Series, names)), (panel,))


def curves_svg(curves: Mapping[str, Sequence[float]], metric: Performance, best: int) -> str:
    """Validation performance after each epoch, as a picture that needs no style sheet."""
    figure = curves_figure(curves, metric, best)
    picture = figure_svg(figure.panels[0], figure.series)
    size = {"viewBox": "0 0 360 224", "style": "background:#fff"}
    return tag("svg", tag("style", _STYLE), picture, xmlns="http://www.w3.org/2000/svg", **size) + "\n"
