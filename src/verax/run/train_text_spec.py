"""The specs of fine-tunings of text generators: what their YAML files hold, validated, every field documented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from verax.models.self_explainer import TrainedMethodName
from verax.run.train_spec import RecipeSpec, Seed, validated
from verax.train.nle import Explanations
from verax.train.text_pairs import Weigh


class TextSpec(RecipeSpec):
    """What every fine-tuning of a text generator needs."""

    epochs: int = Field(default=3, ge=1, description="Passes over the training data.")
    learning_rate: float = Field(default=1e-4, gt=0, allow_inf_nan=False, description="Its peak.")
    longest: int | None = Field(default=None, ge=4, description="Leave out what has more tokens.")
    seed: Seed = Field(default=0, description="Of the order of inputs, dropout and everything that is drawn.")


class NleSpec(TextSpec):
    """The training of a model that answers and says why."""

    setup: TrainedMethodName = Field(
        description="mt_re and mt_ra are one model, st_re and st_ra are two; re explains the input, ra the class that "
        "was predicted."
    )
    prompts: str | None = Field(default=None, description="A file of prompts in place of those that are shipped.")
    explanations: Explanations = Field(
        default="first", description="Which explanations of an input are learned, if it has several: first, all."
    )
    weigh: Weigh = Field(
        default="tokens",
        description="What counts the same in the loss: tokens, or pairs of texts, so that answers of one word weigh as "
        "much as explanations.",
    )
    measure: int = Field(
        default=500, ge=0, description="Accuracy and BLEU are measured on the first so many inputs of a set; 0: not."
    )


class EditorSpec(TextSpec):
    """The training of an editor, which puts words into an input so that they fit a class."""

    test: None = Field(default=None, description="Not for an editor: the counterfactual test measures it.")
    labels_by: str | None = Field(
        default=None,
        description="Learn from the classes that this self-explaining model predicts, a folder made by `verax train "
        "nle`. Left out: those of the data.",
    )
    masks: int = Field(default=1, ge=1, description="Pairs made of each input, each with other words masked.")


def parse_nle_spec(content: Mapping[str, Any]) -> NleSpec:
    """A validated spec; a mistake is a UserError that names the field and the nearest valid one."""
    return validated(NleSpec, content)


def parse_editor_spec(content: Mapping[str, Any]) -> EditorSpec:
    """The same for an editor."""
    return validated(EditorSpec, content)
