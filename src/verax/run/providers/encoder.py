"""A second model: the encoder by whose hidden states a metric compares texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verax.engine.protocols import Metric
from verax.models.classifier import Encoder
from verax.models.load import load_encoder
from verax.run.context import RunContext
from verax.run.parameters import Configured
from verax.run.providers import Provider, Request


class EncoderProvider(Provider):
    """The encoder that a metric's parameter `semantic` names; None for a metric that names none."""

    def __init__(self, run: RunContext, metrics: Sequence[Configured[Any]], others: Mapping[str, Provider]) -> None:
        super().__init__(run, metrics, others)
        names = {metric.label: _name(metric) for metric in metrics}
        self._loaded = {name: load_encoder(name) for name in dict.fromkeys(names.values()) if name is not None}
        self._names = names

    def _encoder(self, metric: Configured[Metric]) -> Encoder | None:
        name = self._names[metric.label]
        return None if name is None else self._loaded[name]

    def key(self, metric: Configured[Metric]) -> Mapping[str, str] | None:
        """Fingerprint of the encoder."""
        encoder = self._encoder(metric)
        return None if encoder is None else encoder.fingerprint

    def provide(self, request: Request) -> Encoder | None:
        """The loaded encoder."""
        return self._encoder(request.metric)


def _name(metric: Configured[Any]) -> str | None:
    semantic = getattr(metric.component, "semantic", None)
    return None if semantic is None else str(semantic.encoder)
