"""The page about word alignment says what is there, and its examples run."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verax.cli import main
from verax.registry import built_in, resolve

PAGE = (Path(__file__).parents[2] / "docs" / "alignment.md").read_text("utf-8")


@pytest.mark.parametrize("name", built_in("aligners"))
def test_each_aligner_has_a_section_with_its_parameters_and_their_defaults(name: str) -> None:
    section = re.split(r"^##+ ", PAGE.split(f"\n### {name}\n")[1], maxsplit=1, flags=re.M)[0]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", section, flags=re.M)
    fields = dataclasses.fields(resolve("aligners", name))
    assert rows == [(f.name, str(f.default).lower() if f.type == "bool" else str(f.default)) for f in fields]


def test_the_commands_and_the_python_of_the_page_run(
    tmp_path: Path,
    checkpoint: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my-xlm-r").symlink_to(checkpoint("xlm-roberta"))
    Path("a.en").write_text("the red boat\n")
    Path("a.de").write_text("das rote Boot\n")
    Path("pairs.txt").write_text("the red boat ||| das rote Boot\n")
    Path("gold.txt").write_text("1-1 2p2\n")
    Path("others.txt").write_text("1-1 3-3\n")
    rows = [{"row": 1, "lang": "en", "text": "the boat"}, {"row": 1, "lang": "de", "text": "das Boot"}]
    Path("rows.jsonl").write_text("\n".join(json.dumps({**row, "label": "yes"}) for row in rows))
    columns = {"parts": ["text"], "lang": "lang", "parallel_id": "row"}
    spec = {"model": "m", "data": {"name": "rows.jsonl", "columns": columns}, "metrics": ["complexity"]}
    Path("parallel.yaml").write_text(json.dumps(spec))
    shown = [
        line for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, flags=re.M | re.S) for line in block.splitlines()
    ]
    assert len(shown) == 5
    for line in shown:
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, (line, capsys.readouterr().err)
    capsys.readouterr()
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.M | re.S)
    exec(code, {"__name__": "page"})  # noqa: S102
    links = json.loads(capsys.readouterr().out)
    assert links
    assert all(0 <= i < 4 and 0 <= j < 4 for i, j in links)
