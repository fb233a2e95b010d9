"""A process that forks writers on demand, so that tests can kill real ones without paying for the imports each time.

It reads orders (a JSON object a line), forks a child for each, prints the child's pid, and prints its wait status when
it has ended.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from verax.store.store import Store
from verax.types import Cost, Highlight, Instance, Prediction, Score, Skip, Span, Target, Text

CALLS = ("fsync", "replace", "unlink", "pwrite", "ftruncate")


def make_row(number: int):
    """One row of each type in turn, all told apart by their number."""
    name = f"x{number}"
    match number % 5:
        case 0:
            return Instance(name, (Text("a ב 🙂", ("a", "ב", "🙂"), ((0, 1), (2, 3), (4, 5))),), "yes")
        case 1:
            return Prediction(name, "yes", ("yes", "no"), (0.1 + number, 0.9))
        case 2:
            cost = Cost(4, 3, 2, 1, 0.5)
            return Highlight(name, "loo", "token", Target(), ((Span(0, 0, 1),),), (number / 3,), cost, {"n": number})
        case 3:
            return Skip(name, "loo", "empty", "no words", failed=True)
    return Score(name, "loo", "entropy", number / 7, curve=(0.1, number / 9))


def write(order) -> None:
    """Append rows that are not there yet, in random-sized groups; tell each key that is acknowledged."""
    told = os.open(order["acknowledged"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with Store.open(Path(order["folder"]), seal_every=order["seal_every"]) as store:
        waiting = []
        for number in range(order["rows"]):
            key = f"k{number}"
            if key in store.keys:
                continue
            store.append(key, make_row(number))
            waiting.append(key)
            if number % order["flush_every"] == 0:
                store.flush()
                os.write(told, "".join(f"{key}\n" for key in waiting).encode())
                waiting = []


def hold(order) -> None:
    """Open the run, tell so, and hold it; with a worker forked from it, if wanted, that outlives it."""
    store = Store.open(Path(order["folder"]))
    store.append("held", make_row(0))
    store.flush()
    worker = os.fork() if order["worker"] else None
    if worker == 0:
        time.sleep(20)
        os._exit(0)
    Path(order["ready"]).write_text(str(worker))
    time.sleep(60)


def deadly_calls(order) -> None:
    """Die at the n-th call that changes or secures a file, before it or after it."""
    count = 0

    def deadly(call):
        def wrapped(*arguments, **names):
            nonlocal count
            count += 1
            if count == order["call"] and order["before"]:
                os._exit(9)
            answer = call(*arguments, **names)
            if count == order["call"]:
                os._exit(9)
            return answer

        return wrapped

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))


def die_at(order) -> None:
    """Open, append, flush, seal, and die on the way."""
    deadly_calls(order)
    with Store.open(Path(order["folder"])) as store:
        for number in order["numbers"]:
            store.append(f"k{number}", make_row(number))
        store.flush()
        Path(order["acknowledged"]).write_text("yes")


def card_at(order) -> None:
    """Write the run card and the plan, and die on the way."""
    store = Store.open(Path(order["folder"]))
    deadly_calls(order)
    store.write_card(order["card"])
    store.write_plan(order["plan"])
    store.close()


def main() -> None:
    orders = {"write": write, "hold": hold, "die_at": die_at, "card_at": card_at}
    # The first seal of a process imports much; do it once for all children.
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder)) as store:
        store.append("k", make_row(0))
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                orders[order["do"]](order)
                code = 0
            finally:
                os._exit(code)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        sys.stdout.write(f"{os.waitpid(pid, 0)[1]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
