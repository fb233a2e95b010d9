"""The command that serves runs to a browser."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from verax.cli.app import Device, app, out
from verax.types import UserError


@app.command()
def view(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Runs, or folders that contain runs.  [default: runs]", metavar="[DIR...]"),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other machines can reach any but this.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 0,
    model: Annotated[
        str | None, typer.Option(help="A model to ask what-if questions: shipped, a folder or a hub id.")
    ] = None,
    device: Device = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the address in a browser.")] = False,
) -> None:
    """Look at runs in a browser: verdicts, tables and figures, instances, two runs side by side, what-if.

    The address that is printed contains a token; without it nothing is shown. A run in progress is updated.

    Examples: `verax view runs/demo`

    `verax view runs --model world/nli --port 8080 --open`
    """
    try:
        from verax.view.serve import serve
    except ModuleNotFoundError as error:
        raise UserError(f"verax view needs {error.name}: pip install 'verax[view]'") from None

    def announce(url: str) -> None:
        out.print(Text(f"Open {url}\nCtrl-C ends the viewer."), soft_wrap=True)
        if open_browser:
            import webbrowser

            webbrowser.open(url)

    loaded = None
    if model is not None:
        from verax.models.load import load_model

        loaded = load_model(model, device=device or "auto")
    try:
        serve(folders or [Path("runs")], host, port, loaded, announce)
    except KeyboardInterrupt:  # the usual end of a viewer, which has nothing to store
        raise typer.Exit from None
