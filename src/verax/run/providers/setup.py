"""The method of an explanation in free text, for tests that apply it to new inputs."""

from __future__ import annotations

from verax.engine.protocols import Method
from verax.run.providers import Provider, Request


class SetupProvider(Provider):
    """The method of an explanation in free text."""

    def provide(self, request: Request) -> Method:
        """The method."""
        method = request.explanation.method
        if method is None:
            raise TypeError("free text made elsewhere cannot be tested: its model cannot be asked again")
        return method.component
