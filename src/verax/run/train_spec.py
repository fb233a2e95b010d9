"""The spec of a fine-tuning: what its YAML file holds, validated, every field documented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from verax.run.spec import DataSpec, Section, by_name, explain_mistake
from verax.train.loop import FineTuning
from verax.train.masking import Masking, Selection
from verax.types import UserError


def _several(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value,)


def _once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Each value once: a seed that is named twice is still one model."""
    return tuple(dict.fromkeys(values))


Seed = Annotated[int, Field(ge=0, lt=2**63)]


class RecipeSpec(Section):
    """What every fine-tuning needs: a base, data, and the optimiser's settings."""

    base: str = Field(description="What to start from: a folder with a checkpoint, a hub id, or a shipped model.")
    data: Annotated[DataSpec, BeforeValidator(by_name)] = Field(
        description="What to train on: a name, or a section as in a run; its split `train`, or a file."
    )
    validation: Annotated[DataSpec, BeforeValidator(by_name)] | None = Field(
        default=None,
        description="What the best epoch is chosen on. Left out: the split `validation`; of a file, a fifth of it.",
    )
    test: Annotated[DataSpec, BeforeValidator(by_name)] | None = Field(
        default=None,
        description="What the finished model is measured on beside the validation set. Left out: the split `test` of "
        "data that verax knows by name.",
    )
    epochs: int = Field(default=10, ge=1, description="Passes over the training data.")
    batch_size: int = Field(default=16, ge=1, description="Inputs for each step of the optimiser.")
    learning_rate: float = Field(default=2e-5, gt=0, allow_inf_nan=False, description="Its peak.")
    warmup: float = Field(default=0.06, ge=0, lt=1, description="Share of the steps over which it rises.")
    weight_decay: float = Field(
        default=0.01, ge=0, allow_inf_nan=False, description="On all weights but biases and norms."
    )
    longest: int | None = Field(default=None, ge=4, description="Cut inputs at so many tokens.")
    device: str = Field(default="cpu", description="cpu, cuda, cuda:1, mps.")

    def recipe(self, **more: Any) -> FineTuning:
        """The recipe of one training; `more` is what differs from one to the next."""
        shared = ("epochs", "batch_size", "learning_rate", "warmup", "weight_decay", "longest")
        return FineTuning(**{name: getattr(self, name) for name in shared}, **more)


class PlainSpec(RecipeSpec):
    """A plain fine-tuning: nothing is masked, and the best epoch is the one that does best on the validation set."""

    seeds: Annotated[tuple[Seed, ...], BeforeValidator(_several), AfterValidator(_once)] = Field(
        default=(0,), min_length=1, description="Of the head, the order of inputs, dropout and masks."
    )


class TrainSpec(PlainSpec):
    """A masked fine-tuning; several values of masking, select or seeds give a model for each combination."""

    masking: Annotated[tuple[Masking, ...], BeforeValidator(_several), AfterValidator(_once)] = Field(
        default=("half",),
        min_length=1,
        description="What is masked in training: none, masking (every input), half (every other one of a mini-batch).",
    )
    select: Annotated[tuple[Selection, ...], BeforeValidator(_several), AfterValidator(_once)] = Field(
        default=("both",),
        min_length=1,
        description="What the best epoch is chosen on: none (the validation set as it is), masking (a masked copy), "
        "both.",
    )
    parts: Literal["all", "maskable"] = Field(
        default="all", description="Which parts are masked: all, or those that the data says may be masked."
    )


S = TypeVar("S", bound=RecipeSpec)


def validated(kind: type[S], content: Mapping[str, Any]) -> S:
    """A spec of a kind; a mistake is a UserError that names the field and the nearest valid one."""
    try:
        return kind.model_validate(dict(content))
    except ValidationError as error:
        sections = {"data": DataSpec, "validation": DataSpec, "test": DataSpec}
        raise UserError(explain_mistake(error, kind, sections)) from None


def parse_train_spec(content: Mapping[str, Any]) -> TrainSpec:
    """The spec of a masked fine-tuning."""
    return validated(TrainSpec, content)


def parse_plain_spec(content: Mapping[str, Any]) -> TrainSpec:
    """The spec of a plain fine-tuning: a masked one that masks nothing."""
    return TrainSpec(**dict(validated(PlainSpec, content)), masking=("none",), select=("none",))
