"""The server of the viewer: addresses, and what is answered there."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from importlib import resources
from typing import TYPE_CHECKING, NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from verax.report import page
from verax.results.render.markup import visible
from verax.studies.leaderboard import compare_runs
from verax.types import UserError
from verax.view import browse, pages
from verax.view.library import Library, OpenRun
from verax.view.security import Access, Guard

if TYPE_CHECKING:
    from verax.view.what_if import WhatIf

NOTHING = "There is nothing here."
Page = Callable[[OpenRun, Request], str]


class Viewer:
    """Answers requests from the runs of a library."""

    def __init__(self, library: Library, what_if: WhatIf | None) -> None:
        self.library = library
        self._what_if = what_if
        own = resources.files("verax.view") / "assets"
        self._assets = {name: (own / name).read_text("utf-8") for name in ("view.css", "view.js")}
        self._assets |= {"report.css": page.style(), "report.js": page.script()}

    def routes(self) -> list[Route]:
        """All addresses; each contains the name of a run at most, and never a path of a file."""
        of_run: dict[str, Page] = {
            "": lambda entry, _: pages.run_page(entry),
            "/card": lambda entry, _: pages.card_page(entry),
            "/findings": lambda entry, _: pages.findings(entry),
            "/summary": lambda entry, _: pages.summary(entry),
            "/verdict": lambda entry, _: pages.verdict(entry),
            "/tables": lambda entry, request: pages.tables(entry, request.query_params.get("prefix", "")),
            "/instances": lambda entry, request: browse.list_page(entry, request.query_params),
            "/instances/{number:int}": self._instance,
        }
        return [
            Route("/", self._runs),
            Route("/assets/{name}", self._asset),
            Route("/compare", self._compare),
            Route(pages.WHAT_IF_PATH, self._ask),
            Route("/runs/{run}/status", self._status),
            *(Route(f"/runs/{{run}}{path}", self._of_run(draw)) for path, draw in of_run.items()),
        ]

    def _runs(self, _: Request) -> Response:
        return HTMLResponse(pages.runs_page(self.library.runs()))

    def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._assets:
            _not_found()
        return Response(self._assets[name], media_type="text/css" if name.endswith(".css") else "text/javascript")

    def _entry(self, name: str) -> OpenRun:
        return self.library.get(name) or _not_found("There is no such run.")

    def _of_run(self, draw: Page) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            return HTMLResponse(draw(self._entry(request.path_params["run"]), request))

        return answer

    def _status(self, request: Request) -> Response:
        entry = self._entry(request.path_params["run"])
        run = entry.run
        planned = run.tables.planned or 0
        return JSONResponse(
            {
                "version": entry.version,
                "line": run.status_line,
                "done": planned - run.tables.missing,
                "planned": planned,
                "finished": run.status != "unfinished",
            }
        )

    def _compare(self, request: Request) -> Response:
        names = request.query_params.getlist("run")
        if len(set(names)) != 2 or len(names) != 2:
            raise UserError("Choose two runs to compare.")
        first, second = map(self._entry, names)
        try:
            found, refusal = compare_runs(first.run, second.run), ""
        except UserError as error:
            found, refusal = None, str(error)
        return HTMLResponse(pages.compare_page(first, second, found, refusal))

    def _ask(self, request: Request) -> Response:
        if self._what_if is None:
            raise UserError("Start `verax view` with --model to change texts and see what is predicted.")
        given = request.query_params
        return HTMLResponse(self._what_if.page(given, self._entry(given["run"]) if "run" in given else None))

    def _instance(self, entry: OpenRun, request: Request) -> str:
        number = request.path_params["number"]
        if number >= len(entry.index):
            _not_found("There is no such instance.")
        return browse.instance_page(entry, number)


def _not_found(reason: str = NOTHING) -> NoReturn:
    raise HTTPException(404, reason)


def _failed(_: Request, error: Exception) -> Response:
    """A page for invalid input and for addresses that do not exist."""
    if isinstance(error, HTTPException):
        reason = error.detail if error.detail != HTTPStatus.NOT_FOUND.phrase else NOTHING
        return HTMLResponse(pages.message("Not found", reason), error.status_code)
    return HTMLResponse(pages.message("Not possible", visible(str(error))), 400)


def make_app(library: Library, access: Access, what_if: WhatIf | None = None) -> Starlette:
    """The application: every request passes the guard first."""
    return Starlette(
        routes=Viewer(library, what_if).routes(),
        middleware=[Middleware(Guard, access=access)],
        exception_handlers={HTTPException: _failed, UserError: _failed},
    )
