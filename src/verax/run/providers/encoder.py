"""A second model: the encoder by whose hidden states a metric compares texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verax.engine.protocols import Metric
from verax.models.classifier import Encoder
from verax.models.load import device_near, load_encoder
from verax.run.context import RunContext
from verax.run.parameters import Configured
from verax.run.providers import Provider, Request


class EncoderProvider(Provider):
    """The encoder that a metric's parameter `semantic` names; None for a metric that names none."""

    def __init__(self, run: RunContext, metrics: Sequence[Configured[Any]], others: Mapping[str, Provider]) -> None:
        super().__init__(run, metrics, others)
        chosen = {metric.label: getattr(metric.component, "semantic", None) for metric in metrics}
        names = {label: None if semantic is None else str(semantic.encoder) for label, semantic in chosen.items()}
        device = device_near(getattr(run.model, "explainer", run.model))
        loaded = {name: load_encoder(name, device=device) for name in dict.fromkeys(names.values()) if name is not None}
        self._encoders = {label: None if name is None else loaded[name] for label, name in names.items()}

    def key(self, metric: Configured[Metric]) -> Mapping[str, str] | None:
        """Fingerprint of the encoder."""
        encoder = self._encoders[metric.label]
        return None if encoder is None else encoder.fingerprint

    def provide(self, request: Request) -> Encoder | None:
        """The loaded encoder."""
        return self._encoders[request.metric.label]
