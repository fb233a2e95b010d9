"""Prompts in the chat template of a checkpoint, independent of the date."""

from __future__ import annotations

from typing import Any

from jinja2 import TemplateError

from verax.models.generator import Prompt
from verax.store.keys import JSON, canonical_json

_TODAY = {"%Y": "2025", "%y": "25", "%m": "01", "%-m": "1", "%d": "01", "%-d": "1", "%j": "001"}
_TODAY |= {"%B": "January", "%b": "Jan", "%A": "Wednesday", "%a": "Wed"}
_TODAY |= {"%H": "00", "%I": "12", "%M": "00", "%S": "00", "%p": "AM"}
"""The date that templates receive, by directive: a prompt is the same text every day and in every locale."""
_ARGUMENTS: dict[str, JSON] = {"date_string": "01 Jan 2025", "enable_thinking": False}
"""Arguments of every template: the names that some families use for the date and for thinking."""
_CLOCK = "strftime_now"


def chat_facts(tokenizer: Any) -> dict[str, str]:
    """Arguments of the chat template, for a fingerprint; empty without a template."""
    if not getattr(tokenizer, "chat_template", None):
        return {}
    return {"chat": canonical_json({**_ARGUMENTS, "date": "2025-01-01"}).decode()}


def as_chat(tokenizer: Any, prompt: Prompt) -> str:
    """A prompt in the tokenizer's template; a system text that it rejects is put before the user's text."""
    user = {"role": "user", "content": prompt.user}
    if prompt.system is None:
        return _rendered(tokenizer, [user])
    try:
        return _rendered(tokenizer, [{"role": "system", "content": prompt.system}, user])
    except TemplateError:
        return _rendered(tokenizer, [{"role": "user", "content": f"{prompt.system}\n\n{prompt.user}"}])


def _rendered(tokenizer: Any, messages: list[dict[str, str]]) -> str:
    template: str = tokenizer.get_chat_template()
    text: str = tokenizer.apply_chat_template(
        messages,
        chat_template=_stopped_clock() + template if _CLOCK in template else template,
        tokenize=False,
        add_generation_prompt=True,
        **_ARGUMENTS,
    )
    return text


def _stopped_clock() -> str:
    """A macro that replaces the clock in a template, since transformers passes no functions to templates."""
    steps = "".join(f' | replace("{mark}", "{value}")' for mark, value in _TODAY.items())
    return f"{{% macro {_CLOCK}(format) %}}{{{{ format{steps} }}}}{{% endmacro %}}"
