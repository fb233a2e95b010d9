"""What tests of the viewer in a browser share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from support.browser import Browser


@pytest.fixture
def wait(browser: Browser) -> Callable[[str], Any]:
    """Waits until an expression is true in the page, and gives its value."""

    def until(expression: str) -> Any:
        deadline = time.monotonic() + 60
        while not (value := browser.ask(expression)):
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.02)
        return value

    return until
