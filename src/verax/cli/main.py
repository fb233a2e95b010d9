"""The way in: a user's mistake is one line and exit code 2, Ctrl-C is 130."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

import typer
from rich.text import Text

from verax.cli.app import app, notes
from verax.types import UserError

INTERRUPTED = 130


def main() -> None:
    """Run the command line: a user's mistake is one line and exit code 2, Ctrl-C is 130."""
    # threads that wait by spinning make torch many times slower on a machine that others use too
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.path.append(str(Path.cwd()))  # so that `python:module:function` finds a function of one's own
    args = sys.argv[1:] or ["--help"]
    debug = "--debug" in args
    try:
        code = app(args=_debug_first(args), standalone_mode=False)
        if code == INTERRUPTED:  # some versions of typer return it, others raise
            raise KeyboardInterrupt
    except UserError as error:
        code = _complain(str(error), debug=debug, code=2)
    except (KeyboardInterrupt, typer.Abort):
        text = "stopped; what was done is kept, and the same command goes on from there"
        code = _complain(text, debug=debug, code=INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the last line of defence: say it in one line, keep the exit code honest
        if hasattr(error, "format_message"):  # wrong usage; typer may or may not bring a click of its own to raise it
            known = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]
            known += [group.name or "" for group in app.registered_groups]
            about = f"verax {args[0]} --help" if args[0] in known else "verax --help"
            text = f"{error.format_message().strip()} ({about} shows how)"
            code = _complain(text, debug=debug, code=2)
        else:
            text = f"unexpected {type(error).__name__}: {error} (--debug shows where)"
            code = _complain(text, debug=debug, code=1)
    sys.exit(code if isinstance(code, int) else 0)


def _debug_first(args: list[str]) -> list[str]:
    """`--debug` may stand anywhere."""
    return ["--debug"] * ("--debug" in args) + [arg for arg in args if arg != "--debug"]


def _complain(text: str, *, debug: bool, code: int) -> int:
    if debug:
        traceback.print_exc()
    notes.print(Text(text if code == INTERRUPTED else f"error: {text}", "red"), soft_wrap=True)
    return code
