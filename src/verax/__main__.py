"""`python -m verax` is `verax`: signals are handled before anything else is imported."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path and sys.path[0] in {"", os.getcwd()}:  # noqa: PTH109 - as Python writes it
    # Python puts the current directory first: a module there would be executed in place of an installed one.
    del sys.path[0]

import signal
from types import FrameType


def main() -> None:
    """Run the command line. A signal during start-up ends it with one line and exit code 128 + its number."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets it
            signal.signal(number, _stop)

    from verax.cli import main as run_command  # noqa: PLC0415 - takes long enough to be interrupted

    run_command(own_process=True)


def _stop(number: int, _: FrameType | None) -> None:
    """End the process at once: an exception could be swallowed by a library that is being imported."""
    name = signal.Signals(number).name
    os.write(2, f"stopped by {name} during start-up; nothing was computed\n".encode())
    os._exit(128 + number)


if __name__ == "__main__":
    main()
