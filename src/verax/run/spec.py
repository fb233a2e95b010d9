"""The spec of a run: what the YAML file holds, validated, every field documented."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from verax.data.columns import Columns
from verax.data.parallel import Missing
from verax.data.segmenters import Segment
from verax.models.endpoint.key import DEFAULT_VARIABLE
from verax.registry import resolve, unknown
from verax.types import UserError


class Section(BaseModel):
    """A part of a spec: nothing unknown in it, nothing changed after."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class EndpointSpec(Section):
    """An OpenAI-compatible endpoint that serves the model; keys come from the environment only."""

    url: str = Field(description="Base URL, such as https://api.example.com/v1; prompts are sent nowhere else.")
    key_env: str = Field(default=DEFAULT_VARIABLE, description="The environment variable that holds the key.")
    headers: dict[str, Any] = Field(
        default={},
        description="Further headers of every request; $NAME in a value is the environment variable NAME, which is not "
        "stored.",
    )
    concurrency: int = Field(default=4, ge=1, description="Requests under way at the same time, at most.")
    max_requests: int | None = Field(
        default=None, ge=1, description="Requests that are sent at most, repeated ones included; answers are stored."
    )
    request_timeout: float = Field(default=60.0, gt=0, description="Seconds for one request.")
    total_timeout: float = Field(default=600.0, gt=0, description="Seconds for one answer, with all repetitions.")
    retries: int = Field(default=5, ge=0, description="Repetitions of a request after 429, 5xx or a lost connection.")
    first_wait: float = Field(default=1.0, ge=0, description="Seconds before the first repetition, then doubled.")
    logprobs: int = Field(
        default=0,
        ge=0,
        le=20,
        description="Number of most likely first tokens that give a label its probability, where the endpoint lists "
        "them; 0: labels are read from the text of the answer.",
    )
    extra: dict[str, Any] = Field(default={}, description="Further fields of every request; null removes one.")


class ModelSpec(Section):
    """The model that is explained."""

    name: str = Field(
        description="A shipped model (`verax list models`), a folder with a checkpoint, a hub id, or "
        "`python:module:function` for a callable from texts to probabilities."
    )
    dtype: Literal["float32", "float64"] = Field(default="float32", description="float64 is for checks.")
    device: str = Field(default="cpu", description="cpu, cuda, cuda:1, mps.")
    labels: tuple[str, ...] | None = Field(
        default=None, description="Names of the classes in the model's order; those of the checkpoint by default."
    )
    revision: str | None = Field(default=None, description="Of a hub id: branch, tag or commit.")
    on_long: Literal["error", "truncate"] = Field(
        default="error",
        description="For an input beyond the model's length: error skips it with its reason, truncate cuts it and "
        "records how many words were lost.",
    )
    mask_text: str | None = Field(default=None, description="Of a callable: what the rule `mask` writes for a word.")
    version: str = Field(
        default="unversioned", description="Of a callable: tells this model from its next version; part of every key."
    )
    endpoint: EndpointSpec | None = Field(
        default=None, description="Of a model that explains itself: ask it there; `name` is its name at the endpoint."
    )
    prompts: Path | None = Field(
        default=None,
        description="Of a model that follows instructions: a file of prompts in place of the shipped ones.",
    )


def _one_name(value: Any) -> Any:
    """Several files have one name, with commas between: so `name` is the same everywhere, also on the command line."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
        return value
    if stray := [one for one in value if "," in one]:
        raise ValueError(f"a file among several may have no comma in its name, got {stray[0]!r}")
    return ",".join(value)


class DataSpec(Section):
    """The inputs that are explained."""

    name: Annotated[str, BeforeValidator(_one_name)] = Field(
        description="A built-in dataset (`verax list datasets`), a JSONL, CSV, TSV or Parquet file, several of them (a "
        "list, or a pattern such as `test.*.jsonl`), a folder of the `datasets` library, or a Hugging Face dataset."
    )
    split: str | None = Field(default=None, description="test by default, or the only one there is.")
    limit: int | None = Field(
        default=None, ge=1, description="The first so many instances; of parallel data so many in each language."
    )
    langs: tuple[str, ...] | None = Field(default=None, description="Keep these languages alone.")
    missing: Missing = Field(
        default="error",
        description="What an input of parallel data is that is not there in every language: an error, or left out "
        "and counted (skip).",
    )
    segment: Segment = Field(
        default="auto",
        description="How words are found that no spaces part: auto (by the segmenter of the language if it is "
        "installed, else by character clusters), clusters, or required (by a segmenter, or not at all).",
    )
    alignments: dict[str, str | tuple[str, ...]] | None = Field(
        default=None,
        description="Files of word alignments in Pharaoh's format by pair of languages, such as en-de, the reference "
        "first; one for each part.",
    )
    columns: Columns | None = Field(default=None, description="Which column means what.")
    labels: tuple[str, ...] | None = Field(default=None, description="Names of the classes, by number.")
    lang: str = Field(default="en", description="Language of rows that have none of their own.")
    revision: str | None = Field(default=None, description="Of a Hugging Face dataset.")
    granularity: Literal["word", "token"] = Field(
        default="word", description="What is scored: words, or the sub-words of the model's tokenizer."
    )
    explain: Literal["all", "maskable"] = Field(
        default="all",
        description="Which parts are explained and measured: all, or those alone that the data says may be masked "
        "(`columns.maskable_part`).",
    )


def by_name(value: Any) -> Any:
    """A name stands for the section that holds it alone."""
    return {"name": value} if isinstance(value, str) else value


class Spec(Section):
    """A run: a model, data, methods that explain, metrics that measure the explanations."""

    model: Annotated[ModelSpec, BeforeValidator(by_name)] = Field(description="A name, or its section.")
    data: Annotated[DataSpec, BeforeValidator(by_name)] = Field(description="A name, or its section.")
    methods: tuple[str | dict[str, Any], ...] = Field(
        default=(),
        description="Names, or {name: {parameter: value}}. `random` is always run: others are tested against it.",
    )
    metrics: tuple[str | dict[str, Any], ...] = Field(
        default=(), description="Names, or {name: {parameter: value}}; at least one, unless there are products."
    )
    products: tuple[str | dict[str, Any], ...] = Field(
        default=(),
        description="What is stored besides explanations and scores: {alignment: {reference_lang: en}} aligns the "
        "words of translations.",
    )
    explanations: tuple[Path, ...] = Field(
        default=(), description="JSONL files with explanations made elsewhere, measured beside those of the methods."
    )
    validation: Annotated[DataSpec, BeforeValidator(by_name)] | None = Field(
        default=None,
        description="What `in_distribution` learns from: a name, or a section like `data`. Left out: the split "
        "`validation` of the data.",
    )
    seed: int = Field(default=0, ge=0, description="Of everything that draws at random.")
    token_budget: int | None = Field(
        default=None,
        ge=1,
        description="Tokens in one batch; memory and speed depend on it, results do not. Left out: 1024 on a CPU, "
        "16384 on an accelerator, four times as many where text is generated; a batch that does not fit into memory is "
        "halved.",
    )

    @model_validator(mode="after")
    def _has_results(self) -> Spec:
        if not self.metrics and not self.products:
            raise ValueError("metrics: at least 1 is needed, unless products are requested")
        return self


def read_spec(path: Path) -> dict[str, Any]:
    """The YAML of a spec, not yet validated: flags may still override it."""
    try:
        content = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError:
        near = unknown("spec file", path.name, [p.name for p in path.parent.glob("*.y*ml")])
        raise UserError(f"{near} (in {path.parent})") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} can't be read: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise UserError(f"{where}: not valid YAML: {getattr(error, 'problem', None) or error}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: a spec is a mapping with model, data, methods and metrics, got {content!r:.40}")
    return content


def parse_spec(content: Mapping[str, Any]) -> Spec:
    """A validated spec; a mistake is a UserError that names the field and the nearest valid one."""
    try:
        return Spec.model_validate(dict(content))
    except ValidationError as error:
        sections: dict[str, type[BaseModel]] = {"model": ModelSpec, "data": DataSpec, "validation": DataSpec}
        raise UserError(explain_mistake(error, Spec, sections)) from None


def parse_data(content: Mapping[str, Any]) -> DataSpec:
    """The data of a spec, whatever else it holds or lacks."""

    class DataAlone(BaseModel):
        model_config = ConfigDict(extra="ignore", frozen=True)
        data: Annotated[DataSpec, BeforeValidator(by_name)]

    try:
        return DataAlone.model_validate(dict(content)).data
    except ValidationError as error:
        raise UserError(explain_mistake(error, DataAlone, {"data": DataSpec})) from None


def explain_mistake(error: ValidationError, whole: type[BaseModel], sections: Mapping[str, type[BaseModel]]) -> str:
    """What is wrong in a spec, in one line: the field, what it holds, and the nearest valid name."""
    found = error.errors()
    # a field that nobody knows is most often the misspelt name of one that is missing
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    problem, place, message, got = first["type"], first["loc"], first["msg"], first["input"]
    field = ".".join(str(step) for step in place)
    if not place:
        return f"spec: {message.removeprefix('Value error, ')}"
    if problem == "missing":
        return f"spec: the field {field!r} is missing"
    if problem == "extra_forbidden":
        section: type[BaseModel] = whole if len(place) == 1 else sections.get(str(place[0]), whole)
        section = Columns if "columns" in place[:-1] else section
        return f"spec: {unknown('field', field, _paths(section, place[:-1]))}"
    if problem == "tuple_type":
        return f"spec: {field}: expected a list, got {got!r:.80}"
    hint = " (YAML reads yes, no, on and off as true and false: put them in quotes)" if isinstance(got, bool) else ""
    return f"spec: {field}: {message.removeprefix('Value error, ')}, got {got!r:.80}{hint}"


def _paths(section: type[BaseModel], above: tuple[int | str, ...]) -> list[str]:
    return [".".join([*map(str, above), name]) for name in section.model_fields]


def preset_spec(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """A spec's content with the methods of a preset, and its metrics unless the spec has its own.

    What is missing altogether, model and data, is a built-in task.
    """
    preset: Mapping[str, Any] = resolve("presets", name).content
    filled = {"model": preset["model"], "metrics": preset["metrics"], **content}
    data = by_name(content.get("data", {}))
    return {
        **filled,
        "data": {**preset["data"], **data} if isinstance(data, Mapping) else data,
        "methods": preset["methods"],
    }


def override(
    content: Mapping[str, Any],
    *,
    limit: int | None = None,
    model: str | None = None,
    data: str | None = None,
    validation: str | None = None,
    seed: int | None = None,
    endpoint: str | None = None,
) -> dict[str, Any]:
    """A spec's content with what flags say in its place."""
    changed = dict(content)
    if data is not None:
        changed["data"] = _merge(changed.get("data", {}), {"name": data})
    if limit is not None and "data" in changed:
        changed["data"] = _merge(changed["data"], {"limit": limit})
    if model is not None:
        changed["model"] = _merge(changed.get("model", {}), {"name": model})
    if endpoint is not None:
        section = by_name(changed.get("model", {}))
        given = section.get("endpoint") if isinstance(section, Mapping) else None
        changed["model"] = _merge(
            section, {"endpoint": {**(given if isinstance(given, Mapping) else {}), "url": endpoint}}
        )
    if validation is not None:
        changed["validation"] = _merge(changed.get("validation") or {}, {"name": validation})
    if seed is not None:
        changed["seed"] = seed
    return changed


def _merge(section: Any, values: Mapping[str, Any]) -> Any:
    section = by_name(section)
    return {**section, **values} if isinstance(section, Mapping) else section
