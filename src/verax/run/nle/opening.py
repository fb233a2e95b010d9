"""From a spec to a run over free-text explanations that is ready to be carried out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verax.engine.protocols import AnsweringMethod, TextMetric
from verax.metrics.free_text.counterfactual_test import CounterfactualTest
from verax.metrics.free_text.editor import ParticularEditor
from verax.metrics.free_text.reconstruction_test import ReconstructionTest, fitting
from verax.models.classifier import Encoder
from verax.models.endpoint import Endpoint
from verax.models.endpoint.cached import CachedEndpoint
from verax.models.load import load_encoder
from verax.models.self_explainer import SelfExplainer, is_trained, load_self_explainer
from verax.models.wording import whole
from verax.registry import entries
from verax.run.execute_run import open_data
from verax.run.nle.plan import make_plan
from verax.run.parameters import Configured, from_config
from verax.run.spec import ModelSpec, Spec, by_name
from verax.studies.free_text.outcomes import COUNTERFACTUAL
from verax.types import Dataset, Instance, UserError

SPOKEN = "text"
"""The kind of set-ups and of metrics that are about free text."""
SHIPPED_FOR, SHIPPED_EDITOR = "world/nli", "world/nli-editor"
PAIR = 2
WORDS_FROM = 500
"""Random words are drawn from so many inputs, however few of them are measured: a larger limit changes no score."""


@dataclass(frozen=True)
class PreparedText:
    """A run over free-text explanations: everything is loaded and checked, nothing is asked."""

    by: SelfExplainer
    data: Dataset
    setups: tuple[Configured[AnsweringMethod], ...]
    metrics: tuple[Configured[TextMetric], ...]
    vocabulary: tuple[str, ...]
    encoder: Encoder | None
    spec: Spec

    @property
    def endpoint(self) -> CachedEndpoint | None:
        """The endpoint that answers, if the model is at one."""
        return self.by.explainer if isinstance(self.by.explainer, CachedEndpoint) else None

    @property
    def most_requests(self) -> int:
        """How many answers and explanations are asked for at most: one of each for every input, new ones too."""
        parts, labels = len(self.data.instances[0].parts), len(self.by.labels)
        inputs = 1 + sum(named.component.max_inputs(parts, labels) for named in self.metrics)
        return 2 * inputs * len(self.setups) * len(self.data)


def about_texts(spec: Spec) -> bool:
    """Whether a spec is about free-text explanations: its metrics and methods say so, none may be about scores then."""
    kinds = {name: _kind("metrics", name) for name in map(_name, spec.metrics)}
    kinds |= {name: _kind("methods", name) for name in map(_name, spec.methods)}
    spoken = [name for name, kind in kinds.items() if kind == SPOKEN]
    others = [name for name, kind in kinds.items() if kind not in (SPOKEN, None)]
    if spoken and others:
        raise UserError(
            f"spec: {spoken[0]} is about explanations in free text and {others[0]} about scores of words; a run has "
            "one kind: make two of it"
        )
    return bool(spoken)


def _name(given: Any) -> str:
    return str(next(iter(given), "")) if isinstance(given, dict) else str(given)


def _kind(namespace: Any, name: str) -> str | None:
    found = entries(namespace).get(name)
    return None if found is None else found.kind


def with_editor(content: Mapping[str, Any], editor: str | None) -> dict[str, Any]:
    """A spec's content with a trained editor in place of any other; without any, in one more counterfactual test."""
    metrics = content.get("metrics")
    if editor is None or not isinstance(metrics, (list, tuple)):
        return dict(content)
    if not any(_name(one) == COUNTERFACTUAL for one in metrics):
        raise UserError("--editor: the run has no counterfactual_test; use --preset nle, or name it in the spec")
    if any(map(_is_infill, metrics)):
        changed = [_filled_by(editor, one) if _is_infill(one) else one for one in metrics]
        # tests that only their editors told apart are one now
        once = [one for number, one in enumerate(changed) if not (_is_infill(one) and one in changed[:number])]
        return {**content, "metrics": once}
    drawn = [_settings(one) for one in metrics if _editor(one) == "random"]
    shared = drawn[0] if len(drawn) == 1 else {}  # of equal settings, else the two have no union
    infill = {COUNTERFACTUAL: {**shared, "editor": {"infill": {"path": editor}}}}
    return {**content, "metrics": [*metrics, infill]}


def _filled_by(path: str, metric: Mapping[str, Any]) -> dict[str, Any]:
    """A counterfactual test by a trained editor, by another one with the same settings."""
    settings = _settings(metric)
    editor = {"infill": {**_settings(settings["editor"]), "path": path}}
    return {**metric, COUNTERFACTUAL: {**settings, "editor": editor}}


def _is_infill(metric: Any) -> bool:
    """Whether what a person wrote is a counterfactual test by a trained editor."""
    return _editor(metric) == "infill"


def _editor(metric: Any) -> str | None:
    """The name of the editor if what a person wrote is a counterfactual test."""
    return _name(_settings(metric).get("editor", "random")) if _name(metric) == COUNTERFACTUAL else None


def _settings(given: Any) -> dict[str, Any]:
    """The parameters in what a person wrote: a name has none, `{name: {parameter: value}}` may have some."""
    inner = given.get(_name(given)) if isinstance(given, Mapping) else None
    return dict(inner) if isinstance(inner, Mapping) else {}


def without_shipped_editor(content: Mapping[str, Any]) -> dict[str, Any]:
    """A preset's content for other data than its own, whose words are all that the shipped editor knows."""
    data = by_name(content.get("data") or {})
    if isinstance(data, Mapping) and data.get("name") == SHIPPED_FOR:
        return dict(content)
    return {**content, "metrics": [one for one in content["metrics"] if SHIPPED_EDITOR not in str(one)]}


def open_texts(spec: Spec, by: SelfExplainer | None = None) -> PreparedText:
    """Load the data and, unless it is there, the model that a spec names."""
    data, limit = open_data(spec.data, spec.seed), spec.data.limit
    wider = None
    if limit is not None and limit < WORDS_FROM:
        wider = open_data(spec.data.model_copy(update={"limit": WORDS_FROM}), spec.seed)
    return prepare_texts(spec, data, wider, by)


def prepare_texts(
    spec: Spec, data: Dataset, wider: Dataset | None = None, by: SelfExplainer | None = None
) -> PreparedText:
    """Load what a spec names, and check that it fits.

    Args:
        data: the inputs.
        by: who explains; what the spec names by default.
        wider: the same before it was cut to a few; random words are drawn from its first inputs, and its classes are
            those of the few too: a larger limit changes no prompt.
    """
    if not data.instances:
        raise UserError(f"data: {data.name} has no inputs")
    if spec.explanations:
        raise UserError("explanations: free text from elsewhere can't be tested: the model must be asked again")
    _check_parts(data)
    if by is None:
        by = open_self_explainer(spec.model, wider or data, named=spec.model.labels or spec.data.labels)
    by = _with_cache(by)
    setups = tuple(from_config("methods", given, spec.seed) for given in spec.methods or _default_setups(by))
    metrics = tuple(_fitted(from_config("metrics", given, spec.seed), by, data) for given in spec.metrics)
    for setup in setups:
        check_setup(setup, by)
        check_prompts(setup, by, data.instances[0])
    words = tuple(
        word for instance in (wider or data).instances[:WORDS_FROM] for part in instance.parts for word in part.words
    )
    encoder = _encoder(metrics)
    # a plan of nothing: what is there twice, or not installed, is said before a folder is begun or an endpoint paid
    make_plan(by, dataclasses.replace(data, instances=()), setups, metrics, vocabulary=words, encoder=encoder)
    return PreparedText(by, data, setups, metrics, words, encoder, spec)


def _check_parts(data: Dataset) -> None:
    """Refuse inputs that are not made alike: a prompt has a place for each part."""
    first = data.instances[0]
    for instance in data.instances:
        if len(instance.parts) != len(first.parts):
            raise UserError(
                f"data: {data.name}: instance {instance.id!r} has {len(instance.parts)} parts and {first.id!r} has "
                f"{len(first.parts)}; all inputs of a run need as many"
            )


def check_prompts(setup: Configured[AnsweringMethod], by: SelfExplainer, instance: Instance) -> None:
    """Fill every prompt once: a place that nothing stands for is told now, and not after hours."""
    for stage in setup.component.stages:
        by.wording.prompt(stage, instance, by.labels, label=by.labels[0], explanation="", plain=by.plain)


def open_self_explainer(spec: ModelSpec, data: Dataset, named: Sequence[str] | None = None) -> SelfExplainer:
    """The model that a spec names, with the classes that are named or, for want of names, those of the data."""
    parts, labels, endpoint = len(data.instances[0].parts), named or data.labels, None
    if spec.endpoint is not None:
        endpoint = Endpoint(model=spec.name, **spec.endpoint.model_dump())
    if not named and (endpoint is not None or not is_trained(spec.name, spec.revision)):
        labels = whole(labels, parts)  # a trained model has classes of its own
    return load_self_explainer(
        spec.name,
        labels=labels,
        parts=parts,
        prompts=spec.prompts,
        endpoint=endpoint,
        dtype=spec.dtype,
        device=spec.device,
        revision=spec.revision,
    )


def _with_cache(by: SelfExplainer) -> SelfExplainer:
    """The model with its endpoint's answers stored, in one place for classes and explanations."""
    if not isinstance(by.explainer, Endpoint) or by.predictor is not by.explainer:
        return by
    cached = CachedEndpoint(by.explainer)
    return dataclasses.replace(by, explainer=cached, predictor=cached)


def _default_setups(by: SelfExplainer) -> Sequence[str]:
    """What a model was trained as; both orders of asking, if it was not."""
    return ("explain_then_answer", "answer_then_explain") if by.setup is None else (by.setup,)


def check_setup(named: Configured[AnsweringMethod], by: SelfExplainer) -> None:
    """Refuse a set-up that the model was not trained for, and prompts that lack what it needs."""
    if named.component.trained and by.setup != named.name:
        trained = f"was trained as {by.setup}" if by.setup else "was not trained to explain itself"
        raise UserError(
            f"methods: {named.name}: the model {by.name!r} {trained}; `verax train nle --setup {named.name}` trains "
            "one, and explain_then_answer and answer_then_explain ask any model that follows instructions"
        )
    if not named.component.trained and by.setup is not None:
        raise UserError(f"methods: {named.name}: the model {by.name!r} was trained as {by.setup}; leave methods out")
    by.wording.check(named.component.stages)


def _fitted(named: Configured[TextMetric], by: SelfExplainer, data: Dataset) -> Configured[TextMetric]:
    """A test with what fits the data, where nothing is named: the way to reconstruct, the parts that may be edited."""
    parts = len(data.instances[0].parts)
    if isinstance(named.component, CounterfactualTest):
        named.component.check(data.instances[0])
        if isinstance(named.component.editor, ParticularEditor):
            named.component.editor.check(by.labels, parts)
        if named.component.parts is None and data.maskable and parts > PAIR:
            # a question may be edited, the choices below it may not; of a pair both sides are
            return Configured(
                named.name, dataclasses.replace(named.component, parts=data.maskable), named.implied | {"parts"}
            )
    if not isinstance(named.component, ReconstructionTest) or named.component.by is not None:
        return named
    chosen = fitting(by.labels, parts)
    return Configured(named.name, dataclasses.replace(named.component, by=chosen), named.implied | {"by"})


def _encoder(metrics: Sequence[Configured[TextMetric]]) -> Encoder | None:
    """The encoder of the semantic match; one for all metrics."""
    matches = [getattr(named.component, "semantic", None) for named in metrics]
    names = list(dict.fromkeys(match.encoder for match in matches if match is not None))
    if len(names) > 1:
        raise UserError(f"semantic: one encoder serves a whole run, got {' and '.join(map(repr, names))}")
    return load_encoder(names[0]) if names else None
