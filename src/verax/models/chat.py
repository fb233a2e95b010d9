"""Prompts in the chat template of a checkpoint, written alike on every day."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from jinja2 import TemplateError

from verax.models.generator import Prompt
from verax.store.keys import JSON, canonical_json

_TODAY = datetime(2025, 1, 1, tzinfo=UTC)
"""What a template is told that asks for the date: the same prompt is the same text tomorrow."""
_ARGUMENTS: dict[str, JSON] = {"date_string": f"{_TODAY:%d %b %Y}", "enable_thinking": False}
"""Given to every template: the names under which those of some families ask for the date, and whether to think."""
_DIRECTIVES = ("%Y", "%y", "%m", "%d", "%B", "%b", "%A", "%a", "%j", "%H", "%I", "%M", "%S", "%p")
_CLOCK = "strftime_now"


def chat_facts(tokenizer: Any) -> dict[str, str]:
    """What decides how a chat is written beside the template, for a fingerprint; nothing where there is no template."""
    if not getattr(tokenizer, "chat_template", None):
        return {}
    return {"chat": canonical_json({**_ARGUMENTS, "date": f"{_TODAY:%Y-%m-%d}"}).decode()}


def as_chat(tokenizer: Any, prompt: Prompt) -> str:
    """A prompt in the tokenizer's template; a system text that it refuses is said at the head of the user's."""
    user = {"role": "user", "content": prompt.user}
    if prompt.system is None:
        return _rendered(tokenizer, [user])
    try:
        return _rendered(tokenizer, [{"role": "system", "content": prompt.system}, user])
    except TemplateError:
        return _rendered(tokenizer, [{"role": "user", "content": f"{prompt.system}\n\n{prompt.user}"}])


def _rendered(tokenizer: Any, said: list[dict[str, str]]) -> str:
    template: str = tokenizer.get_chat_template()
    text: str = tokenizer.apply_chat_template(
        said,
        chat_template=_stopped_clock() + template if _CLOCK in template else template,
        tokenize=False,
        add_generation_prompt=True,
        **_ARGUMENTS,
    )
    return text


def _stopped_clock() -> str:
    """A macro that takes the place of the clock in a template: transformers hands functions to none."""
    read = {mark: _TODAY.strftime(mark) for mark in _DIRECTIVES} | {"%-d": str(_TODAY.day), "%-m": str(_TODAY.month)}
    steps = "".join(f' | replace("{mark}", "{value}")' for mark, value in read.items())
    return f"{{% macro {_CLOCK}(format) %}}{{{{ format{steps} }}}}{{% endmacro %}}"
