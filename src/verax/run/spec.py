"""The spec of a run: the fields of its YAML file, validated and documented."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from verax.data.columns import Columns
from verax.data.parallel import Missing
from verax.data.segmenters import Segment
from verax.models.endpoint.key import DEFAULT_VARIABLE
from verax.models.load import DeviceMap, DType, OnLong
from verax.registry import resolve, unknown
from verax.types import UserError

_MOST_VALUES = 100_000


class Section(BaseModel):
    """A part of a spec; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), use_attribute_docstrings=True)


class EndpointSpec(Section):
    """An OpenAI-compatible endpoint that serves the model; keys come from the environment only."""

    url: str
    """Base URL, such as https://api.example.com/v1; prompts are sent nowhere else."""
    key_env: str = DEFAULT_VARIABLE
    """The environment variable that holds the key."""
    headers: dict[str, Any] = {}
    """Further headers of every request; $NAME in a value is the environment variable NAME, which is not stored."""
    concurrency: int = Field(default=4, ge=1)
    """Requests under way at the same time, at most."""
    max_requests: int | None = Field(default=None, ge=1)
    """Requests that are sent at most, repeated ones included; answers are stored."""
    request_timeout: float = Field(default=60.0, gt=0)
    """Seconds for one request."""
    total_timeout: float = Field(default=600.0, gt=0)
    """Seconds for one answer, with all repetitions."""
    retries: int = Field(default=5, ge=0)
    """Repetitions of a request after 429, 5xx or a lost connection."""
    first_wait: float = Field(default=1.0, ge=0)
    """Seconds before the first repetition, then doubled."""
    logprobs: int = Field(default=0, ge=0, le=20)
    """Number of most likely first tokens that give a label its probability, where the endpoint lists them; 0: labels
    are read from the text of the answer."""
    extra: dict[str, Any] = {}
    """Further fields of every request; null removes one."""


class ModelSpec(Section):
    """The model that is explained."""

    name: str
    """A shipped model (`verax list models`), a folder with a checkpoint, a hub id, or `python:module:function` for a
    callable from texts to probabilities."""
    dtype: DType = "float32"
    """float32, float64 (for checks), bfloat16, float16, or auto: that of the checkpoint, on a CPU at least float32."""
    device: str = "auto"
    """cpu, cuda, cuda:1, mps, or auto: the first of cuda, mps and cpu on this machine."""
    tf32: bool = False
    """Of a cuda device: float32 products round their factors to TF32, for speed."""
    device_map: DeviceMap | None = None
    """auto: a model that does not fit on one device is spread over all of them (needs the extra `accelerate`)."""
    labels: tuple[str, ...] | None = None
    """Names of the classes in the model's order; those of the checkpoint by default."""
    revision: str | None = None
    """Of a hub id: branch, tag or commit."""
    on_long: OnLong = "error"
    """For an input beyond the model's length: error skips it with its reason, truncate cuts it and records how many
    words were lost."""
    mask_text: str | None = None
    """Of a callable: what the rule `mask` writes for a word; `...` by default."""
    version: str | None = None
    """Of a callable: tells this model from its next version; part of every key. By default a hash of the source of its
    module."""
    outputs: Literal["probabilities", "logits"] = "probabilities"
    """Of a callable: what it returns; rows of probabilities sum to 1."""
    endpoint: EndpointSpec | None = None
    """Of a model that explains itself: ask it there; `name` is its name at the endpoint."""
    prompts: Path | None = None
    """Of a model that follows instructions: a file of prompts in place of the shipped ones."""
    max_new_tokens: int | None = Field(default=None, ge=1)
    """Of a model that explains itself: the length of its longest explanation, in tokens; by default that of its
    training, else 64. A longer one is cut off, and tests nothing."""


def _one_name(value: Any) -> Any:
    """Several files as one name, separated by commas, as on the command line."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        return value
    if stray := [name for name in value if "," in name]:
        raise ValueError(f"a file among several may have no comma in its name, got {stray[0]!r}")
    return ",".join(value)


class DataSpec(Section):
    """The inputs that are explained."""

    name: Annotated[str, BeforeValidator(_one_name)]
    """A built-in dataset (`verax list datasets`), a JSONL, CSV, TSV or Parquet file, several of them (a list, or a
    pattern such as `test.*.jsonl`), a folder of the `datasets` library, or a Hugging Face dataset."""
    split: str | None = None
    """Default: test, or the only one."""
    limit: int | None = Field(default=None, ge=1)
    """The first so many instances; of parallel data so many in each language."""
    sample: int | None = Field(default=None, ge=1)
    """So many instances drawn at random by the seed of the spec, out of the first `limit` if both are given; of
    parallel data so many in each language."""
    langs: tuple[str, ...] | None = None
    """Keep only these languages."""
    missing: Missing = "error"
    """If an input of parallel data is missing in some language: error, or skip, which leaves it out and counts it."""
    segment: Segment = "auto"
    """How text without spaces is split into words: auto (by the segmenter of the language if it is installed, else by
    character clusters), clusters, or required (an error without a segmenter)."""
    alignments: dict[str, str | tuple[str, ...]] | None = None
    """Files of word alignments in Pharaoh's format by pair of languages, such as en-de, the reference first; one for
    each part."""
    one_based: tuple[str, ...] = ()
    """Files of `alignments` that count words from 1; the others count from 0."""
    columns: Columns | None = None
    """Meaning of the columns."""
    labels: tuple[str, ...] | None = None
    """Names of the classes, by number."""
    lang: str = "en"
    """Language of rows that have none of their own."""
    revision: str | None = None
    """Of a Hugging Face dataset."""
    granularity: Literal["word", "token"] = "word"
    """What is scored: words, or the sub-words of the model's tokenizer."""
    explain: Literal["all", "maskable"] = "all"
    """Which parts are explained and measured: all, or those that the data declares maskable
    (`columns.maskable_part`)."""


def _as_list(given: Any) -> Any:
    """A single name stands for a list of it."""
    return [given] if isinstance(given, str) else given


def by_name(value: Any) -> Any:
    """A section from its name alone."""
    return {"name": value} if isinstance(value, str) else value


Goal = Literal["random", "best"]


class UntilDecidedSpec(Section):
    """When a run stops before its last input; its inputs are taken in a random order then."""

    goal: Goal = Field(
        description="What is to be decided: random, whether each method is better or worse than its random baseline; "
        "best, which one method is better than all others."
    )
    metrics: tuple[str, ...] | None = Field(
        default=None, description="Under which metrics, by their labels; default: every metric that ranks methods."
    )
    max_inputs: int | None = Field(
        default=None, ge=1, description="Stop there in any case; translations of one input count once. Default: all."
    )


def by_goal(value: Any) -> Any:
    """The section `until_decided` from its goal alone."""
    return {"goal": value} if isinstance(value, str) else value


class Spec(Section):
    """A run: a model, data, methods that explain, metrics that measure the explanations."""

    model: Annotated[ModelSpec, BeforeValidator(by_name)] = Field(description="A name, or its section.")
    data: Annotated[DataSpec, BeforeValidator(by_name)] = Field(description="A name, or its section.")
    methods: tuple[str | dict[str, Any], ...] = Field(
        default=(),
        description="Names, or {name: {parameter: value}}. `random` is always run: others are tested against it.",
    )
    metrics: tuple[str | dict[str, Any], ...] = Field(
        default=(),
        description="Names, or {name: {parameter: value}}; at least one, unless there are products. `all` stands for "
        "every registered metric that fits the run, with its default parameters; why the others do not is recorded.",
    )
    products: tuple[str | dict[str, Any], ...] = Field(
        default=(),
        description="What is stored besides explanations and scores: {alignment: {reference_lang: en}} aligns the "
        "words of translations.",
    )
    explanations: tuple[Path, ...] = Field(
        default=(), description="JSONL files with explanations made elsewhere, measured like those of the methods."
    )
    validation: Annotated[DataSpec, BeforeValidator(by_name)] | None = Field(
        default=None,
        description="What `in_distribution` learns from: a name, or a section like `data`. Left out: the split "
        "`validation` of the data.",
    )
    measured_langs: Literal["reference", "all"] | tuple[str, ...] = Field(
        default="reference",
        description="Of a run with crosslingual_faithfulness: the languages in which the other metrics are measured. "
        "reference, the language that others are compared with, all, or a list.",
    )
    controls: Annotated[tuple[Literal["randomised"], ...], BeforeValidator(_as_list)] = Field(
        default=(),
        description="Controls that are run next to the methods: randomised explains, by each method that scores words, "
        "the same model with randomly initialised weights.",
    )
    until_decided: Annotated[UntilDecidedSpec | None, BeforeValidator(by_goal)] = Field(
        default=None,
        description="Stop as soon as a ranking is decided by a sequential test: `random`, `best`, or a section.",
    )
    seed: int = Field(default=0, ge=0, description="Of everything that draws at random.")
    token_budget: int | None = Field(
        default=None,
        ge=1,
        description="Tokens in one batch; memory and speed depend on it, results only by rounding. Left out: chosen by "
        "timing the first batches, from 1024 on a CPU and 16384 on an accelerator; four times as many where text is "
        "generated; a batch that does not fit into memory is halved.",
    )

    @model_validator(mode="after")
    def _has_results(self) -> Spec:
        if not self.metrics and not self.products:
            raise ValueError("metrics: at least 1 is needed, unless products are requested")
        return self


def read_spec(path: Path) -> dict[str, Any]:
    """The YAML of a spec, not yet validated: flags may still override it."""
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is no file; a spec is a YAML file")
    try:
        content = yaml.safe_load(path.read_text("utf-8"))
        _check_size(content)
    except RecursionError:
        raise UserError(f"{path}: not a spec: nested too deeply") from None
    except FileNotFoundError:
        present = [p.name for p in path.parent.glob("*.y*ml")]
        near = unknown("spec file", path.name, present) if present else f"no spec file {path.name!r}, and no other"
        raise UserError(f"{near} (in {path.parent})") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise UserError(f"{where}: not valid YAML: {getattr(error, 'problem', None) or error}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: a spec is a mapping with model, data, methods and metrics, got {content!r:.40}")
    return content


def _check_size(content: Any) -> None:
    """Reject a spec whose anchors stand for ever more copies of each other."""
    stack, seen = [content], 0
    while stack:
        node = stack.pop()
        seen += 1
        if seen > _MOST_VALUES:
            raise UserError(f"spec: it holds more than {_MOST_VALUES} values, counting what its anchors stand for")
        if isinstance(node, dict):
            stack += [*node.keys(), *node.values()]
        elif isinstance(node, (list, tuple, set)):
            stack += node


S = TypeVar("S", bound=BaseModel)


def parse(kind: type[S], content: Mapping[str, Any]) -> S:
    """A validated spec; invalid input is a UserError that names the field and the nearest valid one."""
    try:
        return kind.model_validate(dict(content))
    except ValidationError as error:
        raise UserError(_first_problem(error, kind)) from None


def parse_spec(content: Mapping[str, Any]) -> Spec:
    """The validated spec of a run."""
    return parse(Spec, content)


def parse_data(content: Mapping[str, Any]) -> DataSpec:
    """The section `data` of a spec; other fields are ignored."""

    class DataOnly(BaseModel):
        model_config = ConfigDict(extra="ignore", frozen=True)
        data: Annotated[DataSpec, BeforeValidator(by_name)]

    return parse(DataOnly, content).data


def _first_problem(error: ValidationError, kind: type[BaseModel]) -> str:
    """One line: the field, its value, and the nearest valid name."""
    problems = error.errors()
    # an unknown field is most often the misspelt name of one that is missing
    first = next((one for one in problems if one["type"] == "extra_forbidden"), problems[0])
    problem, place, message, got = first["type"], first["loc"], first["msg"], first["input"]
    field = ".".join(map(str, place))
    if not place:
        return f"spec: {message.removeprefix('Value error, ')}"
    if problem == "missing":
        return f"spec: the field {field!r} is missing"
    if problem == "extra_forbidden":
        siblings = [".".join([*map(str, place[:-1]), name]) for name in _section_at(kind, place[:-1]).model_fields]
        return f"spec: {unknown('field', field, siblings)}"
    if problem == "tuple_type":
        return f"spec: {field}: expected a list, got {got!r:.80}"
    hint = " (YAML reads yes, no, on and off as true and false: put them in quotes)" if isinstance(got, bool) else ""
    return f"spec: {field}: {message.removeprefix('Value error, ')}, got {got!r:.80}{hint}"


def _section_at(kind: type[BaseModel], place: tuple[int | str, ...]) -> type[BaseModel]:
    """The section of a spec at a path of field names."""
    for step in place:
        field = kind.model_fields.get(str(step))
        kind = (None if field is None else _section_in(field.annotation)) or kind
    return kind


def _section_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_section_in, get_args(annotation))), None)


def preset_spec(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """A spec's content with the methods of a preset; metrics, model and data only where the spec has none."""
    preset: Mapping[str, Any] = resolve("presets", name).content
    filled = {"model": preset["model"], "metrics": preset["metrics"], **content}
    data = by_name(content.get("data", {}))
    return {
        **filled,
        "data": {**preset["data"], **data} if isinstance(data, Mapping) else data,
        "methods": preset["methods"],
    }


def override(
    content: Mapping[str, Any], fields: Mapping[str, Any], sections: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """A spec's content with values from the command line; None leaves a field as it is.

    Args:
        fields: values of top-level fields.
        sections: values of fields in sections such as `model` and `data`.
    """
    changed = {**content, **_not_none(fields)}
    for name, values in sections.items():
        normalise = by_goal if name == "until_decided" else by_name
        section, given = normalise(changed.get(name) or {}), _not_none(values)
        if given and isinstance(section, Mapping):
            changed[name] = {**section, **given}
    return changed


def _not_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
