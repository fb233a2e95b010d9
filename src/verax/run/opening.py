"""Load the model and the data that a spec names."""

from __future__ import annotations

from collections.abc import Sequence

from verax.data.files import named_files
from verax.data.load import load_dataset
from verax.models.classifier import Classifier
from verax.models.endpoint import Endpoint, Permissions
from verax.models.load import load_model
from verax.models.self_explainer import SelfExplainer, is_trained, load_self_explainer
from verax.models.wording import all_classes
from verax.run.spec import DataSpec, ModelSpec, Spec
from verax.types import Dataset, UserError


def open_model(spec: ModelSpec) -> Classifier:
    """The classifier that a spec names."""
    for name in ("endpoint", "prompts", "max_new_tokens"):
        if getattr(spec, name) is not None:
            raise UserError(f"model.{name}: it is for models that explain themselves in free text")
    options = spec.model_dump(exclude={"name", "endpoint", "prompts", "max_new_tokens"})
    return load_model(spec.name, **options)


def explains_itself(spec: ModelSpec) -> bool:
    """Whether the model that a spec names can only be one that explains itself in free text."""
    if spec.endpoint is not None or spec.prompts is not None:
        return True
    return not spec.name.startswith("python:") and is_trained(spec.name, spec.revision)


def open_self_explainer(
    spec: ModelSpec, data: Dataset, labels: Sequence[str] | None = None, permissions: Permissions = Permissions()
) -> SelfExplainer:
    """The model that a spec names as one that explains itself in free text.

    Args:
        data: its inputs, whose classes the model is asked for if none are named.
        labels: names of the classes.
        permissions: of the endpoint of the spec.
    """
    parts, known, endpoint = len(data.instances[0].parts), labels or data.labels, None
    if spec.endpoint is not None:
        permissions.check_variables(spec.endpoint.key_env, spec.endpoint.headers)
        options = spec.endpoint.model_dump()
        endpoint = Endpoint(model=spec.name, **options, allow_insecure=permissions.insecure)
    if not labels and (endpoint is not None or not is_trained(spec.name, spec.revision)):
        known = all_classes(known, parts)  # a trained model has classes of its own
    return load_self_explainer(
        spec.name,
        labels=known,
        parts=parts,
        prompts=spec.prompts,
        endpoint=endpoint,
        dtype=spec.dtype,
        device=spec.device,
        tf32=spec.tf32,
        device_map=spec.device_map,
        revision=spec.revision,
        max_new_tokens=spec.max_new_tokens,
    )


def open_data(spec: DataSpec, seed: int) -> Dataset:
    """The data that a spec names."""
    options = spec.model_dump(exclude={"name", "granularity", "columns", "explain"})
    return load_dataset(spec.name, columns=spec.columns, seed=seed, **options)


def open_validation(spec: Spec) -> Dataset:
    """The validation data of a run: that of the spec, or the validation split of its data."""
    if spec.validation is not None:
        given = spec.validation
        split = given.split or ("validation" if given.name == spec.data.name else None)
        return open_data(given.model_copy(update={"split": split}), spec.seed)
    if named_files(spec.data.name):
        raise UserError(
            "validation: validation data is needed, and a file has no other split than the one that is measured; name "
            "another file: validation: {name: FILE}, or --validation FILE"
        )
    return open_data(spec.data.model_copy(update={"split": "validation", "limit": None, "sample": None}), spec.seed)
