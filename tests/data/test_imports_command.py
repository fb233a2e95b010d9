"""`verax import`, from a file to a run, and what both of its ways refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import CallVerax
from verax import import_explanations, load_dataset
from verax.types import UserError

ROW = {"annotation_id": "r1", "rationales": [{"soft_rationale_predictions": [0.9, 0, -0.4, 0.1]}]}


@pytest.fixture
def printed(verax: CallVerax, checkpoint: Callable[[str], Path]) -> Callable[..., tuple[int, str]]:
    """Call the command line in a folder with data, a spec and predictions: how it ended, and all that it printed."""
    Path("reviews.jsonl").write_text('{"name": "r1", "text": "Not a good film.", "label": "no"}\n')
    spec = {
        "model": str(checkpoint("bert")),
        "data": {"name": "reviews.jsonl", "columns": {"id": "name"}},
        "methods": ["random"],
        "metrics": ["complexity"],
        "explanations": ["out.jsonl"],
    }
    Path("spec.yaml").write_text(json.dumps(spec))
    Path("predictions.jsonl").write_text(json.dumps(ROW))

    def call(*args: str) -> tuple[int, str]:
        answer = verax(*args)
        return answer.code, answer.out + answer.err

    return call


def test_what_is_imported_can_be_run(printed: Callable[..., tuple[int, str]]) -> None:
    options = ("--data", "spec.yaml", "--out", "out.jsonl", "--method", "lei")
    assert printed("import", "eraser", "predictions.jsonl", *options) == (0, "Wrote out.jsonl: 1 explanations by lei\n")
    code, said = printed("run", "spec.yaml", "--out", "run")
    assert code == 0
    assert "lei" in said


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("erasr", "predictions.jsonl"), "unknown format 'erasr'; did you mean 'eraser'?"),
        (("eraser", "predictions.jsonl", "--tokenizer", "x"), "tokenizer: not supported for eraser, got 'x'"),
        (("captum", "ig.pt", "--aggregate", "summ"), "unknown aggregate 'summ'; did you mean 'sum'?"),
        (("captum", "ig.pt"), "no such file: ig.pt"),
        (("captum", "ig.pt", "--ids", "nowhere.txt"), "--ids: nowhere.txt cannot be read"),
        (("eraser", "predictions.jsonl", "--target", "yess"), "unknown target 'yess'"),
        (("eraser", "predictions.jsonl", "--out", "predictions.jsonl"), "is the source file; choose another"),
        (("eraser", "predictions.jsonl", "--out", "no/where.jsonl"), "cannot be written"),
        (("eraser", "predictions.jsonl", "--data", "reviews.jsonl"), "unknown id 'r1'; did you mean '1'?"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_file(
    printed: Callable[..., tuple[int, str]], tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    before = sorted(tmp_path.iterdir())
    code, said = printed("import", "--data", "spec.yaml", "--out", "out.jsonl", *args)
    assert code == 2
    assert message in said
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
    assert json.loads(Path("predictions.jsonl").read_text()) == ROW


def test_what_lies_beyond_the_limit_of_the_data_is_passed_over(tmp_path: Path) -> None:
    data, file = tmp_path / "data.jsonl", tmp_path / "predictions.jsonl"
    data.write_text('{"text": "one"}\n{"text": "two"}\n')
    rows = [{"annotation_id": i, "rationales": [{"soft_rationale_predictions": [i]}]} for i in (2, 1)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (highlight,) = import_explanations("eraser", file, load_dataset(data, limit=1))["eraser"]
    assert (highlight.instance_id, highlight.scores) == ("1", (1.0,))
    file.write_text(json.dumps(rows[0]))
    with pytest.raises(UserError, match="contains no explanation of the 1 instances"):
        import_explanations("eraser", file, load_dataset(data, limit=1))


def test_no_other_tool_and_no_torch_is_needed_to_read_eraser(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"text": "Not a good film."}\n')
    (tmp_path / "p.jsonl").write_text(json.dumps({**ROW, "annotation_id": "1"}))
    code = (
        "import sys, verax\n"
        "verax.import_explanations('eraser', 'p.jsonl', verax.load_dataset('data.jsonl'))\n"
        "assert not {'torch', 'transformers', 'captum', 'shap', 'inseq'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
