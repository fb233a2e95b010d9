"""Time a run at an endpoint where one answer is slow: the other inputs must not wait for it.

    python -m bench.endpoint

A local server answers chat completions, each after `--latency` seconds and one of them after `--slow` seconds. A run of
40 inputs at concurrency 32 asks each for a label and a reason, both by answering first and by explaining first.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any

from rich.console import Console

from verax.run.execute_run import execute_run
from verax.run.prepare import prepare
from verax.run.spec import parse_spec

INPUTS, CONCURRENCY = 40, 32
LABELS = "entailment, neutral, contradiction"


@contextmanager
def serving(latency: float, slow: float) -> Iterator[tuple[str, list[float]]]:
    """The URL of a server whose fifth answer is slow, and the times of the requests that it got."""
    times: list[float] = []
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                times.append(time.perf_counter())
                number = len(times)
            time.sleep(slow if number == 5 else latency)
            wants_label = LABELS in request["messages"][-1]["content"]
            message = {"content": "neutral" if wants_label else "Nothing is said of it."}
            body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", times
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    """Run it once and print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=1.0, help="seconds for every other answer")
    parser.add_argument("--slow", type=float, default=6.0, help="seconds for the slow answer")
    parser.add_argument("--methods", nargs="+", default=["answer_then_explain", "explain_then_answer"])
    parser.add_argument("--metrics", nargs="+", default=["bleu"])
    options = parser.parse_args()
    os.environ["NO_PROXY"] = "127.0.0.1"
    with serving(options.latency, options.slow) as (url, times), TemporaryDirectory() as place:
        content = {
            "model": {"name": "slow", "endpoint": {"url": url, "concurrency": CONCURRENCY}},
            "data": {"name": "world/nli", "limit": INPUTS},
            "methods": options.methods,
            "metrics": options.metrics,
        }
        prepared = prepare(parse_spec(content))
        start = time.perf_counter()
        execute_run(prepared, Path(place) / "run", command="bench", console=Console(file=io.StringIO()))
        seconds = time.perf_counter() - start
    print(
        f"{INPUTS} inputs, {len(times)} requests at concurrency {CONCURRENCY}, latency {options.latency:g} s, one "
        f"answer after {options.slow:g} s: {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
