"""The card of a dataset of explanations: what it contains, how it was made, and whether to trust it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from verax.results.manifest import MethodEntry, MetricEntry
from verax.results.render.markup import visible
from verax.results.render.numbers import listed, plural
from verax.results.render.plain import markdown, to_markdown
from verax.results.run import Run
from verax.results.table import Column, Table, table_row
from verax.studies.leaderboard.conclusion import conclusion_of

UNKNOWN = "unknown"
_SUBSETS = {
    "explanations": "a row for each input and method: texts, words, prediction, and `scores` of the words of each "
    "part, or `pairs` of spans with a score, or the `explanation` in free text; `reason` where there is none",
    "scores": "a row for each input, method and metric: `value`, or the `reason` why there is none",
    "results": "the tables of the analysis, in the column `table`; an estimate `x` has `x_low`, `x_high` (95 % "
    "interval) and `x_n` (inputs)",
}
"""Configurations of the dataset and their content; the first is the default."""


def card_text(run: Run, repository: str, licence: str | None) -> str:
    """The card as Markdown below metadata in YAML."""
    return f"---\n{_metadata(run, licence)}---\n\n" + "\n".join(_body(run, repository))


def _metadata(run: Run, licence: str | None) -> str:
    files = [
        {"config_name": name, "data_files": [{"split": _split(run), "path": f"data/{name}.parquet"}]}
        for name in _SUBSETS
    ]
    first, *others = files
    metadata: dict[str, Any] = {
        "license": licence or _identifier(run.manifest.data.provenance.get("licence")) or UNKNOWN,
        "language": sorted({lang for lang in run.instances.langs if re.fullmatch(r"[a-z]{2,3}", lang)}),
        "pretty_name": " ".join(visible(f"Explanations of {run.name}").split()),
        "tags": ["explainability", "explanations", "faithfulness", "verax"],
        "configs": [{**first, "default": True}, *others],
    }
    return yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)


def _split(run: Run) -> str:
    """The split of the data if it is a name that the hub allows, else `test`."""
    split = run.manifest.data.split or ""
    return split if re.fullmatch(r"\w+", split, re.ASCII) else "test"


def _identifier(licence: object) -> str | None:
    """A licence as the hub writes it, if it is an identifier such as `Apache-2.0`."""
    text = str(licence or "").lower()
    return text if re.fullmatch(r"[a-z]+(-[a-z0-9.]+)+|mit|gpl|unlicense", text) else None


def _body(run: Run, repository: str) -> Iterator[str]:
    manifest = run.manifest
    yield f"# Explanations of {markdown(run.name)}\n"
    sizes = f"{plural(len(run.instances), 'input')} and {plural(len(run.methods), 'method')}"
    yield f"Explanations of the predictions of a language model, and measurements of their quality: {sizes}, made with"
    yield f"verax {manifest.verax} on {manifest.created[:10]}.\n"
    yield "## Verdict\n"
    yield from _verdict(run)
    yield "\n## Results\n"
    yield to_markdown([table for findings in run.findings() for table in findings.tables[:1]])
    yield "## How to load it\n"
    load = [f'{name} = load_dataset("{repository}", "{name}", split="{_split(run)}")' for name in _SUBSETS]
    yield "\n".join(["```python", "from datasets import load_dataset", "", *load, "```\n"])
    yield from (f"- `{name}`: {content}." for name, content in _SUBSETS.items())
    yield "\nCharacters `words[part][i]` belong to `texts[part]`; spans count words, from 0, half-open.\n"
    yield "## Model and data\n"
    yield from _facts(run)
    yield "\n## Methods and metrics\n"
    yield to_markdown([_entries("Methods", manifest.methods), _entries("Metrics", manifest.metrics)])
    yield "## Licence\n"
    recorded = manifest.data.provenance.get("licence")
    known = f"recorded for the data: {markdown(str(recorded))}" if recorded else "not recorded"
    yield f"The texts come from {markdown(manifest.data.name)}, whose licence applies to them ({known}).\n"
    yield "## Citation\n"
    yield from _citation(run)


def _verdict(run: Run) -> Iterator[str]:
    """The status and the conclusion of the run."""
    yield f"- **Status**: {markdown(run.headline)}"
    found = conclusion_of(run)
    if found is None:
        yield from (f"- {markdown(line)}" for findings in run.findings() for line in findings.sentences)
        return
    yield f"- **Use**: {markdown(found.use)}"
    yield f"- **Certainty**: {markdown(found.certainty)}"
    yield from (f"- **Besides**: {markdown(line)}" for line in found.others)
    yield from (f"- **Fails**: {markdown(line)}" for line in found.fails)


def _facts(run: Run) -> Iterator[str]:
    manifest, model, data = run.manifest, run.manifest.model, run.manifest.data
    facts = {
        "Model": model.name,
        "Architecture": model.architecture,
        "Parameters": model.parameters,
        "Precision": str(model.facts.get("dtype", "")),
        "Classes": listed(model.labels, 20) if model.labels else "",
        "Hash of the model": model.hash or "",
        "Data": data.name,
        "Split": data.split or "",
        "Hash of the data": data.hash or "",
        "Seed": "" if manifest.seed is None else str(manifest.seed),
    }
    yield from (f"- {name}: {markdown(value)}" for name, value in facts.items() if value)


def _entries(title: str, items: Sequence[MethodEntry | MetricEntry]) -> Table:
    """Methods or metrics with their parameters and references."""
    rows = tuple(
        table_row(
            item.label,
            ", ".join(f"{name} = {value}" for name, value in item.parameters.items()),
            item.reference,
        )
        for item in items
    )
    names = (title.removesuffix("s"), "Parameters", "Reference")
    return Table(title.lower(), title, tuple(Column(name.lower(), name, "text") for name in names), rows)


def _citation(run: Run) -> Iterator[str]:
    """How to cite verax, the data, and the papers of the methods and metrics."""
    yield "```bibtex\n@software{verax,\n  title = {verax},\n  author = {{The verax maintainers}},"
    yield f"  version = {{{run.manifest.verax}}}\n}}\n```\n"
    yield "Please cite the papers of the methods and metrics that you use, too; the tables above name them."
    citation = run.manifest.data.provenance.get("citation")
    if citation:
        yield f"\nThe data: {markdown(str(citation))}"
