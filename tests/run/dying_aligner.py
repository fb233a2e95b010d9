"""A run that is killed while words are aligned, in processes of its own; a program for test_translating.

It is handed a folder with a model, a folder for the run, and how many alignments and scores may be kept before the
process kills itself, time after time; then the run is carried out to its end. It prints how each process ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.parallel_data import parallel_data
from verax.api import evaluate
from verax.models.load import load_model
from verax.run.providers import Stage
from verax.run.providers.alignment import AlignmentProvider
from verax.store.store import Store
from verax.store.tables import Row


def go(model: Path, out: Path, kept: int | None) -> int:
    """Carry the run out in a process that dies once it has kept so many rows; how that one ended."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    append, rows = Store.append, iter(range(1, 10**6))

    def dying(self: Store, key: str, row: Any) -> None:
        append(self, key, row)
        if next(rows) == kept:
            os.kill(os.getpid(), signal.SIGKILL)

    after = AlignmentProvider.after

    def armed(self: AlignmentProvider, stage: Stage) -> Iterator[tuple[str, Row]]:
        Store.append = dying  # type: ignore[assignment, method-assign]
        return after(self, stage)

    AlignmentProvider.after = armed  # type: ignore[method-assign]
    metric = "crosslingual_faithfulness"
    evaluate(load_model(model), parallel_data(6), methods=["saliency"], metrics=[metric], out=out, progress=False)
    os._exit(0)


if __name__ == "__main__":
    model, out, deaths = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    sys.stdout.write(json.dumps([go(model, out, kept) for kept in (*deaths, None)]))
