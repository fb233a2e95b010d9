"""Specs of trainings: the fields of their YAML files, validated and documented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from verax.models.self_explainer import TrainedMethodName
from verax.run.spec import DataSpec, Section, by_name, explain_mistake
from verax.train.loop import FineTuning
from verax.train.masking import Masking, Selection
from verax.train.nle import Explanations
from verax.train.text_pairs import Weigh
from verax.types import UserError


def _several(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value,)


def _once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Each value once: a seed that is named twice is still one model."""
    return tuple(dict.fromkeys(values))


Seed = Annotated[int, Field(ge=0, lt=2**63)]


class RecipeSpec(Section):
    """What every fine-tuning needs: a base, data, and the settings of the optimiser."""

    base: str = Field(description="The model to start from: a folder with a checkpoint, a hub id, or a shipped model.")
    data: Annotated[DataSpec, BeforeValidator(by_name)] = Field(
        description="The training data: a name, or a section as in a run; its split `train`, or a file."
    )
    validation: Annotated[DataSpec, BeforeValidator(by_name)] | None = Field(
        default=None,
        description="The data on which the best epoch is selected. Default: the split `validation`, or a fifth of a "
        "file.",
    )
    test: Annotated[DataSpec, BeforeValidator(by_name)] | None = Field(
        default=None,
        description="The data on which the finished model is evaluated too. Default: the split `test` of a dataset "
        "that verax knows by name.",
    )
    epochs: int = Field(default=10, ge=1, description="Passes over the training data.")
    batch_size: int = Field(default=16, ge=1, description="Inputs per optimiser step.")
    learning_rate: float = Field(default=2e-5, gt=0, allow_inf_nan=False, description="Peak learning rate.")
    warmup: float = Field(default=0.06, ge=0, lt=1, description="Share of the steps over which it rises.")
    weight_decay: float = Field(
        default=0.01, ge=0, allow_inf_nan=False, description="On all weights except biases and norms."
    )
    longest: int | None = Field(default=None, ge=4, description="Truncate inputs to this many tokens.")
    device: str = Field(default="cpu", description="cpu, cuda, cuda:1, mps.")

    def recipe(self, **more: Any) -> FineTuning:
        """The recipe of one training; `more` is what differs from one to the next."""
        shared = ("epochs", "batch_size", "learning_rate", "warmup", "weight_decay", "longest")
        return FineTuning(**{name: getattr(self, name) for name in shared}, **more)


class PlainSpec(RecipeSpec):
    """A plain fine-tuning: nothing is masked, and the epoch that does best on the validation set is kept."""

    seeds: Annotated[tuple[Seed, ...], BeforeValidator(_several), AfterValidator(_once)] = Field(
        default=(0,), min_length=1, description="Seeds of the head, the order of inputs, dropout and masks."
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
        description="The best epoch is selected on: none (the validation set as it is), masking (a masked copy), both.",
    )
    parts: Literal["all", "maskable"] = Field(
        default="all", description="Which parts are masked: all, or those that the data declares maskable."
    )


class TextSpec(RecipeSpec):
    """What every fine-tuning of a text generator needs."""

    epochs: int = Field(default=3, ge=1, description="Passes over the training data.")
    learning_rate: float = Field(default=1e-4, gt=0, allow_inf_nan=False, description="Peak learning rate.")
    longest: int | None = Field(default=None, ge=4, description="Leave out inputs with more tokens.")
    seed: Seed = Field(default=0, description="Seed of the order of inputs, dropout and all random draws.")


class NleSpec(TextSpec):
    """The training of a self-explaining model."""

    setup: TrainedMethodName = Field(
        description="mt_re and mt_ra are one model, st_re and st_ra are two; re explains the input, ra the predicted "
        "class."
    )
    prompts: str | None = Field(default=None, description="A file of prompts that replaces the shipped ones.")
    explanations: Explanations = Field(
        default="first", description="Which explanations of an input are learned if it has several: first, all."
    )
    weigh: Weigh = Field(
        default="tokens",
        description="What has equal weight in the loss: tokens, or pairs of texts, so that one-word answers count as "
        "much as explanations.",
    )
    measure: int = Field(
        default=500, ge=0, description="Accuracy and BLEU are measured on this many inputs of each set; 0 skips them."
    )


class EditorSpec(TextSpec):
    """The training of an editor, which inserts words that fit a class into an input."""

    test: None = Field(default=None, description="Not used: the counterfactual test evaluates an editor.")
    labels_by: str | None = Field(
        default=None,
        description="Learn from the classes that this self-explaining model predicts, a folder made by `verax train "
        "nle`. Default: the classes of the data.",
    )
    masks: int = Field(default=1, ge=1, description="Pairs made of each input, each with other words masked.")


S = TypeVar("S", bound=RecipeSpec)


def parse(kind: type[S], content: Mapping[str, Any]) -> S:
    """A validated spec; invalid input is a UserError that names the field and the nearest valid one."""
    try:
        return kind.model_validate(dict(content))
    except ValidationError as error:
        sections = {"data": DataSpec, "validation": DataSpec, "test": DataSpec}
        raise UserError(explain_mistake(error, kind, sections)) from None


def parse_plain(content: Mapping[str, Any]) -> TrainSpec:
    """The spec of a plain fine-tuning, as a masked one that masks nothing."""
    return TrainSpec(**dict(parse(PlainSpec, content)), masking=("none",), select=("none",))
