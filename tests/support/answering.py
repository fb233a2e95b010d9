"""Chat completions by the rule of `text_runs`, over a real connection."""

from __future__ import annotations

import json

from support.fault_server import Asked, Fault, FaultServer, Handler, says
from support.text_runs import decides, names_it


def wants_label(user: str) -> bool:
    """Whether a prompt asks for a class, and not for a reason."""
    return "Answer with exactly one of these" in user


def rule_of(user: str) -> str:
    """What a model that follows the rule answers to a prompt."""
    return decides(user) if wants_label(user) else names_it(user)


def answers_by_rule() -> Fault:
    def fault(handler: Handler, asked: Asked) -> None:
        says(rule_of(asked.user))(handler, asked)

    return fault


def bodies(server: FaultServer) -> list[str]:
    """What was asked, one text for each request."""
    return [json.dumps(one.body, sort_keys=True) for one in server.asked]
