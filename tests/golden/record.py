"""Record what verax produces; `tests/test_golden.py` compares later code with it.

    python tests/golden/record.py [CASE ...]        # every case, or those named; then the pairs
    python tests/golden/record.py --conclusions     # of the recorded rows, which stay as they are

Each case is one `verax run`. Recorded are the folder of the run (run-v1/CASE), its rows and conclusions (CASE.json) and
the content keys of its rows (CASE.keys.json); pairs.json has what is concluded from two runs together. Record a case
anew only where a value is meant to change, and say why in the commit. The folders were written by the first format of
runs: once there is another format, keep them and record new ones elsewhere.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
from golden import adapter
from verax.store.store import Store

HERE = Path(__file__).parent
STORED = HERE / "run-v1"
PACKAGES = ("torch", "transformers", "numpy", "scipy", "scikit-learn", "spacy")
WIDTH = 120


@dataclass(frozen=True)
class Case:
    """A run that is recorded: a spec, filled by a preset if there is one."""

    name: str
    spec: Mapping[str, Any]
    preset: str | None = None

    @property
    def command(self) -> list[str]:
        """Arguments of `verax`, in a folder that holds `spec.yaml`; the run is written to `run`."""
        return ["run", "spec.yaml", *(["--preset", self.preset] if self.preset else []), "--out", "run"]

    def run(self, folder: Path, verax: Callable[..., None] = adapter.verax) -> Path:
        """Run the command in an existing folder, in a process of its own by default; the folder of the run."""
        (folder / "spec.yaml").write_text(json.dumps(self.spec))  # JSON is YAML too
        verax(*self.command, cwd=folder)
        return folder / "run"

    @property
    def stored(self) -> Path:
        """The folder of the recorded run."""
        return STORED / self.name


def _float64(model: str) -> dict[str, str]:
    return {"name": model, "dtype": "float64"}


def _nli(limit: int) -> dict[str, Any]:
    return {"name": "world/nli", "split": "test", "limit": limit}


def _preset(name: str, model: str, data: Mapping[str, Any], **others: Any) -> Case:
    """A preset in float64; `others` are further fields of the spec."""
    return Case(name, {"model": _float64(model), "data": data, **others}, name)


_AGENTS = {"seeds": 2, "epochs": 2, "learning_rate": 1e-3}

# 16 inputs where they are cheap: with 13 or fewer, permutation tests enumerate all signs instead of drawing them
CASES = {
    case.name: case
    for case in (
        Case(
            "demo",
            {
                "model": _float64("world/nli"),
                "data": _nli(16),
                "methods": ["random", "leave_one_out", "saliency", "input_x_gradient", "integrated_gradients"],
                "metrics": ["comprehensiveness", "sufficiency", "agreement", "complexity"],
            },
        ),
        _preset("attribution-table", "world/nli", _nli(6)),
        _preset("importance-measures", "world/nli", _nli(5)),
        _preset("faithfulness-measurable", "world/opinion-masked", {"name": "world/opinion", "limit": 16}),
        _preset("crosslingual", "world/xnli", {"name": "world/xnli", "limit": 6, "langs": ["en", "de", "zh"]}),
        _preset("nle", "world/nli-mt-ra", _nli(8)),
        _preset(
            "unified",
            "world/nli",
            _nli(5),
            metrics=[
                "comprehensiveness_flips",
                "sufficiency_flips",
                {"agreement": {"within": "budget"}},
                {"agreement": {"level": "interaction"}},
                {"complexity": {"top": "span_pairs"}},
            ],
        ),
        # the last metric of `unified` needs 25 inputs and trains agents: fewer methods, cheaper agents
        Case(
            "unified-simulatability",
            {
                "model": _float64("world/nli"),
                "data": _nli(25),
                "methods": ["attention", {"louvain": {"over": "attention_interaction"}}, "random_span"],
                "metrics": [
                    {"simulatability": {"insertion": "symbol", **_AGENTS}},
                    {"simulatability": {"insertion": "text", **_AGENTS}},
                ],
            },
        ),
    )
}

_LANGUAGES = {
    "data": {"name": "world/xnli", "limit": 6, "langs": ["en", "de"]},
    "methods": ["leave_one_out"],
    "metrics": ["crosslingual_faithfulness", "comprehensiveness", "plausibility"],
}
FURTHER_RUNS = {
    case.name: case
    for case in (
        Case("languages", {"model": _float64("world/xnli"), **_LANGUAGES}),
        Case("languages-2", {"model": _float64("world/nli"), **_LANGUAGES}),
        Case("nle-2", {"model": _float64("world/nli-st-re"), "data": _nli(8)}, "nle"),
    )
}
"""Runs that are only kept, not run again: for conclusions that take two models on the same inputs."""
PAIRS = (("languages", "languages-2"), ("nle", "nle-2"))


def recorded(case: Case, folder: Path) -> dict[str, Any]:
    """What is recorded of a case, from the folder of its run."""
    return {
        "command": shlex.join(["verax", *case.command]),
        "spec.yaml": case.spec,
        "recorded_with": {name: version(name) for name in PACKAGES},
        "rows": adapter.rows(folder),
        "conclusions": adapter.conclusions(folder),
    }


def pairs() -> dict[str, Any]:
    """What is concluded from two stored runs together."""
    return {
        f"{first} and {second}": adapter.conclusions_of_both(STORED / first, STORED / second) for first, second in PAIRS
    }


def write(path: Path, value: Any) -> None:
    """Write JSON with every number in full, a row on a line where it fits."""
    path.write_text("".join(_pieces(value, "")) + "\n", encoding="utf-8")


def _pieces(value: Any, indent: str) -> Iterator[str]:
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    long = len(indent) + len(flat) > WIDTH
    if not long or not isinstance(value, (dict, list)) or (isinstance(value, list) and "{" not in flat):
        yield flat
        return
    named = isinstance(value, dict)
    names = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value] if named else [""] * len(value)
    items = zip(names, value.values() if named else value, strict=True)
    for number, (name, item) in enumerate(items):
        yield f"{',' if number else '{' if named else '['}\n{indent} {name}"
        yield from _pieces(item, f"{indent} ")
    yield f"\n{indent}{'}' if named else ']'}"


def record(case: Case) -> None:
    """Run a case, keep the folder of its run, and write what is in it."""
    shutil.rmtree(case.stored, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(case.run(Path(place)), case.stored)
    # the place where verax is installed says nothing about the run
    card = (case.stored / "run.json").read_text("utf-8").replace(f"{adapter.home()}/", "")
    with Store.open(case.stored) as store:
        store.write_card(json.loads(card))
    write(HERE / f"{case.name}.json", recorded(case, case.stored))
    write(HERE / f"{case.name}.keys.json", adapter.keys(case.stored))


def conclude(case: Case) -> None:
    """Draw the conclusions from the recorded run anew."""
    path = HERE / f"{case.name}.json"
    write(path, {**json.loads(path.read_text("utf-8")), "conclusions": adapter.conclusions(case.stored)})


def main(names: list[str]) -> None:
    """Record the named cases, or all; or the conclusions of all."""
    cases = CASES | FURTHER_RUNS
    if names == ["--conclusions"]:
        for case in cases.values():
            conclude(case)
        names, cases = [], {}
    for name in names or cases:
        record(cases[name])
    write(HERE / "pairs.json", pairs())


if __name__ == "__main__":
    main(sys.argv[1:])
