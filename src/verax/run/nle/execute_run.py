"""From a prepared run over free-text explanations to a finished one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from verax.engine.engine import Engine
from verax.models.endpoint import REASONS
from verax.results.run import Run
from verax.run.card import card_of, closing_card, data_facts
from verax.run.execute_run import check_counts
from verax.run.nle.execute import TextExecution
from verax.run.nle.opening import PreparedText
from verax.run.nle.plan import TextPlan, make_plan
from verax.run.plan import Remaining
from verax.run.progress import progress_bar
from verax.store.keys import key_of
from verax.store.read import RunTables, read_card, read_rows
from verax.store.store import Store
from verax.store.tables import Row
from verax.types import Score, Skip

NEARBY, AT_AN_ENDPOINT = 32, 8
"""Tasks that are open at the same time: each asks much, so few fill a batch, and what is finished is stored soon. At an
endpoint they are twice its concurrency, if that is more, so that there is always another request to send."""


def execute_text_run(
    prepared: PreparedText,
    folder: Path,
    *,
    command: str,
    console: Console,
    announce: Callable[[Remaining], None] = lambda *_: None,
) -> Run:
    """Ask for everything that the folder does not hold yet.

    Args:
        prepared: the run.
        folder: where it is kept; what is there is not asked for again, but for what an endpoint failed to answer.
        command: what a person types to get the same again.
        console: for progress and notices.
        announce: told what is left before anything is asked.
    """
    with Store.open(folder, say=console.print) as store:
        for line in store.repaired:
            console.print(line, markup=False)
        plan = plan_of(prepared, store.rows())
        left = plan.remaining(store.keys)
        announce(left)
        earlier = read_card(folder)[0]
        card = _opening_card(prepared, plan, command, earlier)
        for line in _moved(card["model"]):
            console.print(line, style="yellow", markup=False, highlight=False)
        store.write_card(card)
        store.write_plan([*(planned.key for planned in plan.instances), *plan.row_keys()])
        endpoint = prepared.endpoint
        sent = 0 if endpoint is None else endpoint.requests
        try:
            _ask(prepared, plan, left, store, console)
        finally:  # also where `max_requests` or a mistake ends the run
            if endpoint is not None:
                card = _with_requests(card, endpoint.requests - sent, earlier)
                store.write_card(card)
        store.seal()
        final = closing_card(card, RunTables.open(folder))
        check_counts(final["counts"], left.rows)
        store.write_card(final)
    return Run(folder)


def _ask(prepared: PreparedText, plan: TextPlan, left: Remaining, store: Store, console: Console) -> None:
    """Ask for what is left of a plan, and keep it."""
    if prepared.endpoint is not None:
        prepared.endpoint.open_with(store)
    with progress_bar(left.rows, left.done, console) as watch:
        endpoint = prepared.endpoint
        window = NEARBY if endpoint is None else max(AT_AN_ENDPOINT, 2 * endpoint.concurrency)
        budget = prepared.spec.token_budget
        engine = Engine(token_budget=budget, window=window, on_batch=watch.on_batch)
        given = (prepared.by, prepared.vocabulary, prepared.encoder)
        TextExecution(plan, store, engine, *given, on_row=watch.on_row).run()


def _hosts(card: Mapping[str, Any]) -> list[str]:
    """The addresses that answered in a folder, by its card; one of an older version has the last alone."""
    model = card.get("model", {})
    return list(model.get("hosts", [model["host"]] if "host" in model else []))


def _moved(model: Mapping[str, Any]) -> list[str]:
    """What to say of answers that came from another address: the same name may be another model there."""
    others = [host for host in model.get("hosts", ()) if host != model["host"]]
    if not others:
        return []
    return [
        f"answers of {', '.join(others)} are kept as those of {model['host']}: if that is another model, use another "
        "folder"
    ]


def _with_requests(card: Mapping[str, Any], sent: int, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """The card with what an endpoint was sent; an address that was sent nothing has answered nothing."""
    hosts = card["model"]["hosts"] if sent else _hosts(earlier)
    return {**card, "model": {**card["model"], "hosts": hosts}, "requests": card["requests"] + sent}


def plan_of(prepared: PreparedText, rows: Iterable[tuple[str, Row]]) -> TextPlan:
    """The rows of a run, given those that its folder holds."""
    again = {key for key, row in rows if _unanswered(row)} if prepared.endpoint is not None else set()
    return make_plan(
        prepared.by,
        prepared.data,
        prepared.setups,
        prepared.metrics,
        vocabulary=prepared.vocabulary,
        encoder=prepared.encoder,
        again=again,
    )


def left_in(prepared: PreparedText, folder: Path) -> Remaining:
    """What is to be done in a folder that may hold some of it; nothing is written."""
    rows = list(read_rows(folder))
    return plan_of(prepared, rows).remaining({key for key, _ in rows})


def _unanswered(row: Row) -> bool:
    """Whether a row tells of an endpoint that did not answer, and not of the explanation."""
    if isinstance(row, Score) and row.trial_log is not None and row.trial_log.unanswered:
        return True
    return isinstance(row, (Skip, Score)) and row.reason in REASONS


def _opening_card(prepared: PreparedText, plan: TextPlan, command: str, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """The card before anything is asked; `earlier` is the one that the folder has."""
    by, spec = prepared.by, prepared.spec
    model: dict[str, Any] = {
        "name": by.name,
        "hash": key_of(**by.fingerprint),
        "setup": by.setup or "prompted",
        "labels": list(by.labels),
        "prompts": {"source": by.wording.source, "hash": by.wording.hash},
        **by.predictor.about,
        **({} if by.explainer is by.predictor else {"explainer": by.explainer.about}),
    }
    if prepared.endpoint is not None:
        model["hosts"] = sorted({*_hosts(earlier), model["host"]})
    explained = key_of(inputs=[planned.key for planned in plan.instances])
    methods = [
        {
            "label": named.label,
            "name": named.name,
            "parameters": named.parameters,
            "kind": named.component.kind,
            "target": "prediction",
            "reference": named.component.reference,
            "version": named.component.version,
        }
        for named in plan.setups
    ]
    card = card_of(
        model=model,
        data=data_facts(prepared.data, explained),
        methods=methods,
        metrics=plan.metrics,
        spec=spec.model_dump(mode="json"),
        command=command,
        seed=spec.seed,
        warnings=[*_doubtful(prepared), *_moved(model)],
    )
    card["created"] = earlier.get("created", card["created"])
    return card if prepared.endpoint is None else {**card, "requests": earlier.get("requests", 0)}


def _doubtful(prepared: PreparedText) -> list[str]:
    """What to warn of before anything is asked."""
    known = {label.casefold() for label in prepared.by.labels}  # as answers are judged
    labels = {i.label for i in prepared.data.instances if i.label is not None}
    strange = sorted(label for label in labels if label.casefold() not in known)
    said = [f"labels that the model has no class for: {', '.join(strange[:4])}"] if strange else []
    foreign = sorted({i.lang for i in prepared.data.instances if i.lang.partition("-")[0] != "en"})
    if foreign:
        said.append(
            f"editors, templates and mentions go by rules for English; there are inputs in {', '.join(foreign)}"
        )
    return said
