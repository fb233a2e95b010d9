"""The model card of a fine-tuned checkpoint, and the picture of its validation curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from xml.sax.saxutils import escape

from verax.train.loop import FineTuning, Trained
from verax.train.masking import NAMES, Selection
from verax.types import Performance

_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 260, 56, 16
_COLOURS: dict[Selection, str] = {"none": "#1b5e9e", "masking": "#b35806", "both": "#5a5a5a"}


@dataclass(frozen=True, slots=True)
class Figures:
    """Performance on one set: as it is, with everything masked, and of always naming the most frequent class.

    `languages` has that of the set as it is in each of its languages, if there are several.
    """

    unmasked: float
    fully_masked: float | None
    majority: float
    languages: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Story:
    """What a model card tells.

    Args:
        name: of the model.
        base, data: as the user gave them.
        labels: the classes.
        metric: how performance is measured on the data.
        sizes: instances of each split.
        recipe, select, trained: how it was made, and what happened.
        figures: by split.
    """

    name: str
    base: str
    data: str
    labels: Sequence[str]
    metric: Performance
    sizes: Mapping[str, int]
    recipe: FineTuning
    select: Selection
    trained: Trained
    figures: Mapping[str, Figures]


def model_card(story: Story) -> str:
    """The README.md of a checkpoint."""
    kept = story.trained.best[story.select]
    lines = [
        f"# {story.name}",
        "",
        f"`{story.base}`, fine-tuned on `{story.data}` by `verax train {_command(story)}`. "
        f"Classes: {', '.join(story.labels)}.",
        "",
        _promise(story),
        "",
        f"| {story.metric} on | unmasked | everything masked | most frequent class |",
        "| --- | ---: | ---: | ---: |",
        *(_figures(split, story.figures[split], story.sizes.get(split)) for split in story.figures),
        "",
        *_languages(story),
        f"Trained on {story.sizes['train']} instances, {len(story.trained.losses)} epochs. Epoch {kept + 1} is kept, "
        f"the first with the best {story.metric} on {_chosen_on(story.select)}.",
        "",
        f"![{story.metric} on the validation set after each epoch](curves.svg)",
        "",
        "| epoch | training loss | " + " | ".join(NAMES[name] for name in story.trained.curves) + " |",
        "| ---: | ---: |" + " ---: |" * len(story.trained.curves),
        *(_epoch(story.trained, epoch, kept) for epoch in range(len(story.trained.losses))),
        "",
        "| parameter | value |",
        "| --- | --- |",
        *(f"| {name} | {_written(name, value)} |" for name, value in asdict(story.recipe).items()),
        "",
    ]
    return "\n".join(lines)


def _command(story: Story) -> str:
    return "plain" if story.recipe.masking == story.select == "none" else "masked"


def _languages(story: Story) -> list[str]:
    """A table of languages, where there are several."""
    shown = {split: figures.languages for split, figures in story.figures.items() if figures.languages}
    if not shown:
        return []
    langs = sorted({lang for languages in shown.values() for lang in languages})
    cells = [[f"{of[lang]:.4f}" if lang in of else "–" for of in shown.values()] for lang in langs]
    return [
        f"| {story.metric} in | {' | '.join(shown)} |",
        "| --- |" + " ---: |" * len(shown),
        *(f"| {lang} | {' | '.join(row)} |" for lang, row in zip(langs, cells, strict=True)),
        "",
    ]


def _written(name: str, value: object) -> str:
    nothing = {"parts": "all", "longest": "the model's length"}
    return nothing.get(name, "none") if value is None else str(value)


def _promise(story: Story) -> str:
    if story.recipe.masking == "none":
        return (
            "No input was masked in training. Masked inputs may be out of its distribution: measure explanations of it "
            "by masking only where `in_distribution` allows it."
        )
    share = "Half of every mini-batch was" if story.recipe.masking == "half" else "All inputs were"
    return (
        f"{share} masked in training, at rates from 0 to 100 %, so that masking words, to measure explanations, is "
        "meant to stay in its distribution. `in_distribution` tests whether it does."
    )


def _chosen_on(select: Selection) -> str:
    return {
        "none": "the validation set",
        "masking": "a masked copy of the validation set",
        "both": "the validation set and a masked copy of it",
    }[select]


def _figures(split: str, figures: Figures, size: int | None) -> str:
    masked = "–" if figures.fully_masked is None else f"{figures.fully_masked:.4f}"
    count = "" if size is None else f" ({size})"
    return f"| {split}{count} | {figures.unmasked:.4f} | {masked} | {figures.majority:.4f} |"


def _epoch(trained: Trained, epoch: int, kept: int) -> str:
    number = f"**{epoch + 1}**" if epoch == kept else str(epoch + 1)
    values = [f"{trained.losses[epoch]:.4f}", *(f"{curve[epoch]:.4f}" for curve in trained.curves.values())]
    return f"| {number} | {' | '.join(values)} |"


def curves_svg(trained: Trained, metric: Performance, kept: int) -> str:
    """Validation performance after each epoch, as a picture."""
    values = [value for curve in trained.curves.values() for value in curve]
    low, high = min(values), max(values)
    namespace = (high - low) * 0.08 or 0.05
    low, high = low - namespace, high + namespace
    epochs = len(trained.losses)
    right, bottom = _WIDTH - 120, _HEIGHT - 40

    def place(epoch: int, value: float) -> tuple[float, float]:
        across = (epoch / (epochs - 1)) if epochs > 1 else 0.5
        return _LEFT + across * (right - _LEFT), bottom - (value - low) / (high - low) * (bottom - _TOP)

    drawn = [
        f'<rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{bottom - _TOP}" fill="none" stroke="#999"/>'
    ]
    for tick in range(5):
        value = low + (high - low) * tick / 4
        y = place(0, value)[1]
        drawn.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    for epoch in sorted({0, kept, epochs - 1}):
        x = place(epoch, low)[0]
        drawn.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{epoch + 1}</text>')
    x = place(kept, low)[0]
    drawn.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}" stroke="#999" stroke-dasharray="3 3"/>')
    for number, (name, curve) in enumerate(trained.curves.items()):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(epoch, value) for epoch, value in enumerate(curve)))
        colour = _COLOURS[name]
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>'
            for x, y in (place(epoch, value) for epoch, value in enumerate(curve))
        ]
        y = _TOP + 16 + 18 * number
        drawn.append(f'<text x="{right + 10}" y="{y}" fill="{colour}">{NAMES[name]}</text>')
    middle = (_LEFT + right) / 2
    drawn.append(f'<text x="{middle:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">epoch (dashed: the one kept)</text>')
    title = escape(f"{metric} on the validation set after each epoch")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        f'font-size="12" fill="#333"><title>{title}</title><rect width="100%" height="100%" fill="#fff"/>'
        + "".join(drawn)
        + "</svg>\n"
    )
