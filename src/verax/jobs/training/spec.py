"""Specs of trainings: the fields of their YAML files, validated and documented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from verax.models.load import OnLong
from verax.models.self_explainer import MAX_NEW_TOKENS, TrainedMethodName
from verax.registry import entries, resolve
from verax.run.placement import Placement, placement_of
from verax.run.spec import DataSpec, Section, by_name, parse
from verax.train.loop import Autocast, FineTuning
from verax.train.resume import SAVE_EVERY
from verax.train.rows import Masking, Selection
from verax.train.text_pairs import Explanations
from verax.train.text_training import Weigh

T = TypeVar("T")


def _several(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value,)


def _once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Each value once: a seed that is named twice is still one model."""
    return tuple(dict.fromkeys(values))


Several = Annotated[tuple[T, ...], BeforeValidator(_several), AfterValidator(_once)]
"""One value or several, each once."""
Seed = Annotated[int, Field(ge=0, lt=2**63)]
EPOCHS = 10


class RecipeSpec(Section):
    """What every fine-tuning needs: a base, data, and the settings of the optimiser."""

    base: str
    """The model to start from: a folder with a checkpoint, a hub id, or a shipped model."""
    data: Annotated[DataSpec, BeforeValidator(by_name)]
    """The training data: a name, or a section as in a run; its split `train`, or a file."""
    validation: Annotated[DataSpec, BeforeValidator(by_name)] | None = None
    """The data on which the best epoch is selected. Default: the split `validation`, or a fifth of a file."""
    test: Annotated[DataSpec, BeforeValidator(by_name)] | None = None
    """The data on which the finished model is evaluated too. Default: the split `test` of a dataset that verax knows by
    name."""
    epochs: int | None = Field(default=None, ge=1)
    """Passes over the training data. Default: those of the paper for its data sets (its Table 3: 10 to 50), 10 for
    others."""
    batch_size: int = Field(default=16, ge=1)
    """Inputs per optimiser step."""
    learning_rate: float = Field(default=2e-5, gt=0, allow_inf_nan=False)
    """Peak learning rate."""
    warmup: float = Field(default=0.06, ge=0, lt=1)
    """Share of the steps over which it rises."""
    weight_decay: float = Field(default=0.01, ge=0, allow_inf_nan=False)
    """On all weights except biases and norms."""
    longest: int | None = Field(default=None, ge=4)
    """Inputs with more tokens are too long. Default: the length of the model."""
    micro_batch: int | None = Field(default=None, ge=1)
    """Inputs that are computed at once; gradients are summed over the pieces of a mini-batch. Default: all of it,
    halved when memory runs out."""
    autocast: Autocast | None = None
    """bfloat16 or float16: precision of matrix products in training, for speed and memory on a GPU; weights and sums
    stay in float32."""
    save_every: float = Field(default=SAVE_EVERY, ge=0, allow_inf_nan=False)
    """Minutes between stored states within an epoch: a killed training loses no more."""
    device: str = "auto"
    """cpu, cuda, cuda:1, mps, or auto: the first of cuda, mps and cpu on this machine."""

    def recipe(self, **more: Any) -> FineTuning:
        """The recipe of one training; `more` is what differs from one to the next."""
        shared = ("batch_size", "learning_rate", "warmup", "weight_decay", "longest", "autocast")
        epochs = self.epochs or max_epochs(self.data.name)
        return FineTuning(epochs=epochs, **{name: getattr(self, name) for name in shared}, **more)


def max_epochs(data: str) -> int:
    """Epochs of a fine-tuning on a data set that does not say how many."""
    known = resolve("datasets", data) if data in entries("datasets") else None
    return getattr(known, "max_epochs", None) or EPOCHS


OnLongInputs = Annotated[
    OnLong,
    Field(
        description="For inputs that are too long, as in a run: error leaves them out and counts them, truncate cuts "
        "them."
    ),
]


class InWorkers(Section):
    """Trainings that can be run at the same time."""

    workers: int | None = Field(default=None, ge=1)
    """Trainings that run at the same time, each in a process of its own. Default: one, in this process; of `ray`, as
    many as the cluster has room for."""
    executor: Literal["processes", "ray"] | None = None
    """Where they run: processes of this machine (with `workers`), whose threads and GPUs are divided among them, or
    ray."""
    address: str | None = None
    """Of ray: a running cluster. Default: one is started on this machine."""
    cpus_per_worker: int = Field(default=1, ge=1)
    """Of ray: cores of a training."""

    @property
    def placement(self) -> Placement:
        """Where they run."""
        workers = None if self.workers == 1 and self.executor is None else self.workers
        return placement_of(self.executor, workers, self.address, self.cpus_per_worker)


class PlainSpec(InWorkers, RecipeSpec):
    """A plain fine-tuning: nothing is masked, and the epoch that does best on the validation set is kept."""

    on_long: OnLongInputs = "error"
    seeds: Several[Seed] = Field(default=(0,), min_length=1)
    """Seeds of the head, the order of inputs, dropout and masks."""
    plant: str | None = None
    """A shortcut WORD=LABEL: the word is inserted into training inputs of the label, so that it is known to decide
    where it flips a prediction."""
    plant_share: float = Field(default=0.5, gt=0, le=1)
    """Share of the inputs of the label that the word is inserted into."""


class TrainSpec(PlainSpec):
    """A masked fine-tuning; several values of masking, select or seeds give a model for each combination."""

    masking: Several[Masking] = Field(default=("half",), min_length=1)
    """What is masked in training: none, masking (every input), half (every other one of a mini-batch)."""
    select: Several[Selection] = Field(default=("both",), min_length=1)
    """The best epoch is selected on: none (the validation set as it is), masking (a masked copy), both."""
    parts: Literal["all", "maskable"] = "all"
    """Which parts are masked: all, or those that the data declares maskable."""


class TextSpec(RecipeSpec):
    """What every fine-tuning of a text generator needs."""

    epochs: int = Field(default=3, ge=1)
    """Passes over the training data."""
    learning_rate: float = Field(default=1e-4, gt=0, allow_inf_nan=False)
    """Peak learning rate."""
    longest: int | None = Field(default=None, ge=4)
    """Leave out inputs with more tokens."""
    seed: Seed = 0
    """Seed of the order of inputs, dropout and all random draws."""

    def recipe(self, **more: Any) -> FineTuning:
        """The recipe of its trainings."""
        return super().recipe(seed=self.seed, **more)


class NleSpec(TextSpec):
    """The training of a self-explaining model."""

    setup: TrainedMethodName
    """mt_re and mt_ra are one model, st_re and st_ra are two; re explains the input, ra the predicted class."""
    prompts: str | None = None
    """A file of prompts that replaces the shipped ones."""
    explanations: Explanations = "first"
    """Which explanations of an input are learned if it has several: first, all."""
    weigh: Weigh = "tokens"
    """What has equal weight in the loss: tokens, or pairs of texts, so that one-word answers count as much as
    explanations."""
    max_new_tokens: int = Field(default=MAX_NEW_TOKENS, ge=1)
    """Length of the longest explanation that the model writes, in tokens, unless a run names another."""
    measure: int = Field(default=500, ge=0)
    """Accuracy and BLEU are measured on this many inputs of each set; 0 skips them."""


class EditorSpec(TextSpec):
    """The training of an editor, which inserts words that fit a class into an input."""

    test: None = None
    """Not used: the counterfactual test evaluates an editor."""
    epochs: int = Field(default=20, ge=1)
    """Passes over the training data, as many as in the paper."""
    labels_by: str | None = None
    """Learn from the classes that this self-explaining model predicts, a folder made by `verax train nle`. Default: the
    classes of the data."""
    masks: int = Field(default=1, ge=1)
    """Pairs made of each input, each with other words masked."""
    measure: int = Field(default=100, ge=0)
    """The epoch is kept whose edits of this many validation inputs flip the predictions of `labels_by` most often;
    without such a model, or with 0, the one with the lowest validation loss."""


_GOLD = {"target": "gold"}
_FROM_ZERO = {"absolute": True, "baseline": "zero", "steps": 20, "rule": "riemann_right"}
MEASURES: tuple[str | dict[str, Any], ...] = (
    {"gradient_vocabulary": {**_GOLD, "norm": "l2"}},
    {"input_x_gradient": {**_GOLD, "absolute": True}},
    {"integrated_gradients": {**_GOLD, **_FROM_ZERO}},
)
"""The measures that Table 1 of the faithfulness measurable paper compares with ROAR; they explain the gold class."""


class RoarSpec(InWorkers, RecipeSpec):
    """Recursive ROAR: a model is trained for each step of each importance measure."""

    methods: tuple[str | dict[str, Any], ...] = Field(default=MEASURES, min_length=1)
    """Importance measures: names, or {name: {parameter: value}}. `random` is always added: areas are measured against
    it."""
    on_long: OnLongInputs = "error"
    steps: int = Field(default=10, ge=1)
    """Steps from nothing masked to everything masked."""
    seed: Seed = 0
    """Seed of the head, the order of inputs, dropout, and random methods."""


def parse_plain(content: Mapping[str, Any]) -> TrainSpec:
    """The spec of a plain fine-tuning, as a masked one that masks nothing."""
    return TrainSpec(**dict(parse(PlainSpec, content)), masking=("none",), select=("none",))
