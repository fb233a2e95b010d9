"""README and docs say what is there: every field, parameter, command and link; and their examples run."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import hooks
import pytest
import typer.main
import yaml
from pydantic import BaseModel

import verax as verax_package
from support.cli import CallVerax
from support.plug_ins import InstallPlugIn
from verax.align.protocol import Aligner
from verax.cli import app
from verax.data.columns import Columns
from verax.data.world import splits
from verax.engine.protocols import Method
from verax.jobs.training.spec import PlainSpec, TrainSpec, parse_plain
from verax.methods.integrated_gradients import Baseline
from verax.metrics.free_text.editing import Editor
from verax.models.removal import CODES
from verax.registry import Namespace, built_in, resolve
from verax.run.parameters import from_config
from verax.run.spec import DataSpec, ModelSpec, Spec, parse_spec
from verax.studies.leaderboard.requirements import Requirement
from verax.types import Target

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
EXPLAINED: list[tuple[Namespace, str]] = [
    (namespace, name) for namespace in ("methods", "metrics") for name in built_in(namespace)
]


def read(path: Path) -> str:
    return path.read_text("utf-8")


def section(text: str, heading: str) -> str:
    """What stands below a heading of the second level, up to the next."""
    return re.split(r"^## ", text.split(f"\n## {heading}\n")[1], maxsplit=1, flags=re.M)[0]


def table(text: str) -> dict[str, str]:
    """The rows that begin with a name in code, with their second cell."""
    return dict(re.findall(r"^\| `(\w+)`[^|]* \| ([^|]*) \|", text, flags=re.M))


def blocks(path: Path, kind: str) -> list[tuple[str, str]]:
    """The file name (if any) and content of each fenced block of a kind."""
    return re.findall(rf"^```{kind}(?: (\S+))?\n(.*?)^```$", read(path), flags=re.M | re.S)


def anchors(text: str) -> set[str]:
    """Where a link into a page can lead: its headings, as they are commonly turned into anchors."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), flags=re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize(
    ("heading", "model"),
    [("The run", Spec), ("model", ModelSpec), ("data", DataSpec), ("data.columns", Columns)],
)
def test_the_page_of_the_spec_has_every_field(heading: str, model: type[BaseModel]) -> None:
    rows = table(section(read(DOCS / "spec.md"), heading))
    assert list(rows) == list(model.model_fields)
    for name, field in model.model_fields.items():
        if model is not Columns and isinstance(field.default, str | int):
            assert rows[name].replace("`", "").startswith(str(field.default)), name


@pytest.mark.parametrize("namespace", ["methods", "metrics"])
def test_every_method_and_metric_has_its_page_and_no_page_is_left_over(namespace: Namespace) -> None:
    assert {page.stem for page in (DOCS / namespace).glob("*.md")} == {*built_in(namespace), "README"}


@pytest.mark.parametrize(("namespace", "name"), EXPLAINED)
def test_a_page_names_every_parameter_with_its_default(namespace: Namespace, name: str) -> None:
    kind, text = resolve(namespace, name), read(DOCS / namespace / f"{name}.md")
    assert text.startswith(f"# {name}\n")
    fields = dataclasses.fields(kind)
    rows = table(text.split("\n**Missing values**\n")[0])
    assert list(rows) == [field.name for field in fields]
    for field in fields:
        made = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        assert rows[field.name].replace("`", "") == written(made), field.name
    if not fields:
        assert "It has no parameters." in text


def written(default: Any) -> str:
    """A default as the pages write it."""
    namespaces: dict[Namespace, type] = {"methods": Method, "aligners": Aligner, "editors": Editor}
    for namespace, kind in namespaces.items():
        if isinstance(default, kind):
            return next(name for name in built_in(namespace) if resolve(namespace, name) is type(default))
    if isinstance(default, Target):
        return default.of
    if isinstance(default, tuple):
        return ", ".join(f"{value:g}" for value in default)
    return str(default).lower() if isinstance(default, bool) else str(default)


@pytest.mark.parametrize(("namespace", "name"), EXPLAINED)
def test_a_page_gives_reference_and_direction(namespace: Namespace, name: str) -> None:
    kind, text = resolve(namespace, name), read(DOCS / namespace / f"{name}.md")
    if kind.reference not in {"baseline", "control"}:
        authors_and_year = re.split(r"(?<=\d{4}),", kind.reference)[0]
        assert f"**Reference.** {authors_and_year}, *" in text
    if namespace == "metrics":
        assert f"**Direction.** {'Higher' if kind.higher_is_better else 'Lower'}" in text


def test_every_reason_for_a_missing_value_is_documented() -> None:
    source = "\n".join(read(path) for path in (ROOT / "src").rglob("*.py"))
    reasons = {*re.findall(r'Undefined\(\s*"(\w+)"', source), "no_label", "not_given", "failed"}
    assert len(reasons) > 10
    assert {reason for reason in reasons if f"`{reason}`" not in read(DOCS / "statistics.md")} == set()


def test_every_removal_rule_and_baseline_is_documented() -> None:
    text = read(DOCS / "removal.md")
    assert set(table(section(text, "The rules"))) == set(CODES)
    assert set(table(section(text, "Baselines of path gradients"))) == set(get_args(Baseline))


def test_the_layers_are_those_of_the_contract() -> None:
    contracts = tomllib.loads(read(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    layers = " > ".join(contracts[0]["layers"])
    assert re.sub(r"verax\.|[()]", "", layers) in read(DOCS / "architecture.md")


def test_every_command_has_its_example() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    shown = re.findall(r"^    verax ([\w-]+)", read(DOCS / "commands.md"), flags=re.M)
    assert set(shown) == set(commands)


@pytest.mark.parametrize("page", [*PAGES, *DOCS.rglob("*.ipynb")], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", NOTEBOOK_TEXT.get(page) or read(page)):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.is_file(), link
        assert not anchor or anchor in anchors(read(target)), link


def test_the_navigation_leads_to_every_page_once() -> None:
    def pages(nav: list[Any]) -> Iterator[str]:
        for entry in nav:
            for page in entry.values() if isinstance(entry, dict) else [entry]:
                yield from [page] if isinstance(page, str) else pages(page)

    notebooks = [path.with_suffix(".md") for path in DOCS.rglob("*.ipynb")]
    expected = [str(page.relative_to(DOCS)) for page in [*PAGES[1:], *notebooks]]
    assert sorted(pages(hooks.navigation())) == sorted([*expected, *hooks.OUTSIDE])


def test_the_page_of_the_python_interface_has_every_public_name() -> None:
    names = hooks.PUBLIC.findall(read(DOCS / "api.md"))
    assert sorted(name for name in names if "." not in name) == verax_package.__all__


def test_the_extras_of_the_page_of_installation_exist() -> None:
    extras = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    assert set(table(section(read(DOCS / "install.md"), "Extras"))) <= set(extras)


def commands_in(text: str) -> list[str]:
    """The verax commands of a page: in blocks, and as code in a line; without those that only show the form."""
    text = re.sub(r"\\\n\s*", "", text)
    every = re.findall(r"^```(.*)\n((?s:.*?))^```$", text, flags=re.M)
    fenced = [content for kind, content in every if kind in {"", "sh"}]
    indented = re.findall(r"\n\n((?: {4}.*\n)+)", text)
    found = re.findall(r"^ *(verax [a-z-]+ .*)$", "".join([*fenced, *indented]), flags=re.M)
    found += re.findall(r"`(verax [a-z-]+ [^`\n]*)`", text)
    return [command for command in found if not re.search(r"\.\.\.|[\[$]", command)]


NOTEBOOK_TEXT = {
    path: "\n".join("".join(cell["source"]) for cell in json.loads(read(path))["cells"])
    for path in sorted(DOCS.rglob("*.ipynb"))
}
COMMANDS = {
    (path.name, command): command
    for path, text in {**{page: read(page) for page in [*PAGES, ROOT / "CONTRIBUTING.md"]}, **NOTEBOOK_TEXT}.items()
    for command in commands_in(text)
}


def misread(command: str) -> list[str]:
    """What the command line cannot make sense of in a command."""
    arguments = shlex.split(command, comments=True)[1:]
    found: Any = typer.main.get_command(app)
    while hasattr(found, "commands"):
        if arguments[0].startswith("--"):  # an option of several commands: `verax train --workers`
            return (
                []
                if any(arguments[0] in each.opts for one in found.commands.values() for each in one.params)
                else arguments
            )
        if arguments[0] not in found.commands:
            return arguments
        found = found.commands[arguments.pop(0)]
    mention = "of an option that is named without its value"
    if arguments and arguments[-1].startswith("--") and arguments[-1] != "--help":
        arguments.append(mention)
    try:
        left = found.make_parser(typer.Context(found)).parse_args(arguments)[1]
    except typer.TyperException as error:
        return [str(error)]
    return [argument for argument in left if argument != mention]


def test_every_command_that_is_shown_has_known_options_and_arguments() -> None:
    assert len(COMMANDS) > 150
    wrong = {place: left for place, command in COMMANDS.items() if (left := misread(command))}
    assert wrong == {}
    assert misread("verax run spec.yaml --no-such-option 1")
    assert misread("verax no-such-command")


@pytest.mark.parametrize(
    "page", ["docs/commands.md", "docs/spec.md", "docs/tutorial.md", "docs/targets.md", "docs/free-text.md"]
)
def test_the_specs_that_are_shown_are_valid(page: str) -> None:
    shown = [yaml.safe_load(content) for _, content in blocks(ROOT / page, "yaml")]
    assert shown
    for content in shown:
        spec = parse_spec({"model": "m", "data": "d", "metrics": ["agreement"], **content})
        for method in spec.methods:
            from_config("methods", method, 0)
        for metric in spec.metrics:
            from_config("metrics", metric, 0)


def test_the_python_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ((_, code),) = blocks(ROOT / "README.md", "python")
    exec(code, {"__name__": "readme"})  # noqa: S102
    assert "comprehensiveness" in capsys.readouterr().out
    assert (tmp_path / "runs" / "small" / "report.html").is_file()


@pytest.fixture
def workplace(tmp_path: Path, checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the tutorial takes for granted: two checkpoints, and its files."""
    from support import tiny

    (tmp_path / "my-model").symlink_to(checkpoint("bert"))
    tiny.save("bert", tmp_path / "other-model", seed=1)
    for kind in ("csv", "yaml", "jsonl"):
        for name, content in blocks(DOCS / "tutorial.md", kind):
            (tmp_path / name).write_text(content, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def verax(call_verax: CallVerax) -> Callable[..., str]:
    """Call the command line, which must succeed: all that it printed."""

    def call(*args: str) -> str:
        answer = call_verax(*args)
        assert answer.code == 0, (args, answer.err)
        return answer.out + answer.err

    return call


def commands_of(page: Path) -> list[str]:
    return [line for _, content in blocks(page, "sh") for line in content.splitlines()]


def test_the_tutorial_works_from_beginning_to_end(
    workplace: Path, verax: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    verax("demo", "--limit", "4")  # `make demo` with fewer instances
    said = {line: verax(*shlex.split(line)[1:]) for line in commands_of(DOCS / "tutorial.md")}
    assert len(said) >= 10
    assert "to do: 0," in said["verax run spec.yaml"]  # the last of the same commands: nothing was left to do
    assert re.search(r"mine .* 2 +4$", said["verax run outside.yaml"], flags=re.M)  # n and skipped
    assert (workplace / "runs" / "spec" / "report.html").is_file()
    ((_, code),) = blocks(DOCS / "tutorial.md", "python")
    exec(code, {"__name__": "tutorial"})  # noqa: S102
    assert "agreement" in capsys.readouterr().out


def test_the_page_of_results_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verax: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    page = DOCS / "results.md"
    monkeypatch.chdir(tmp_path)
    verax("demo", "--limit", "6")
    said = {line: verax(*shlex.split(line)[1:]) for line in commands_of(page)}
    assert len(said) == 5
    assert said["verax show runs/demo --table list"].split() == [
        *("verdict", "overview", "comprehensiveness", "sufficiency", "agreement", "complexity")
    ]
    (header,) = re.findall(r'^    ("method",.*)$', read(page), flags=re.M)
    assert said["verax show runs/demo --table comprehensiveness --format csv"].splitlines()[0] == header
    assert "toprule" in (tmp_path / "tables.tex").read_text("utf-8")
    for _, code in blocks(page, "python"):
        exec(code, {"__name__": "results"})  # noqa: S102
    assert "'integrated_gradients'" in capsys.readouterr().out


def test_the_page_of_audits_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ((_, code),) = blocks(DOCS / "audit.md", "python")
    exec(code, {"__name__": "audit"})  # noqa: S102
    assert "better" in capsys.readouterr().out
    assert (tmp_path / "runs" / "audit" / "report.html").is_file()


def test_the_page_of_checks_in_a_build_shows_valid_requirements() -> None:
    page = read(DOCS / "ci.md")
    requirements = re.findall(r'--require "([^"]+)"', page)
    assert [Requirement.parse(text).metric for text in requirements] == ["comprehensiveness"] * 4
    ((_, workflow),) = blocks(DOCS / "ci.md", "yaml")
    (job,) = yaml.safe_load(workflow)["jobs"].values()
    assert any("verax check" in step.get("run", "") for step in job["steps"])


def test_the_page_of_results_lists_every_study() -> None:
    assert set(table(section(read(DOCS / "results.md"), "Studies"))) == set(built_in("studies"))


def test_the_tutorial_of_measurable_models_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verax: Callable[..., str]
) -> None:
    """With fewer validation and test instances than the built-in corpus has, for time."""
    page = DOCS / "faithfulness-measurable.md"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(splits, "SIZES", {"train": 600, "validation": 100, "test": 40})
    for name, content in blocks(page, "yaml"):
        (tmp_path / name).write_text(content, "utf-8")
    said = {line: verax(*shlex.split(line)[1:]) for line in commands_of(page)}
    assert len(said) == 6
    assert len(list((tmp_path / "models" / "ablation").glob("*-seed-0/model.safetensors"))) == 9
    assert "| Beam" in said["verax show runs/mine --study masking --format markdown"]
    assert (tmp_path / "my-masked" / "curves.svg").is_file()


def test_the_tutorial_of_the_unified_protocol_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verax: Callable[..., str]
) -> None:
    page = DOCS / "unified.md"
    monkeypatch.chdir(tmp_path)
    for name, content in blocks(page, "yaml"):
        (tmp_path / name).write_text(content, "utf-8")
    said = {line: verax(*shlex.split(line)[1:]) for line in commands_of(page)}
    assert len(said) == 4
    assert "14 methods x 8 metrics" in said["verax run --preset unified --limit 40 --dry-run"]
    tables = said["verax show runs/pairs --study unified --format markdown"]
    titles = ["Comprehensiveness", "Sufficiency", "Agreement on words", "Agreement on pairs", "Simulatability (symbol)"]
    titles.append("Agreement on words (at the budget)")
    assert [title for title in titles if f"{title} (higher is better)." not in tables] == []
    assert "Complexity (lower is better)." in tables
    assert tables.count("| Explanation | Shapley | Random |") == 7
    assert 'id="unified"' in (tmp_path / "runs" / "pairs" / "report.html").read_text("utf-8")


def test_the_tutorial_of_free_text_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verax: Callable[..., str], install_plug_in: InstallPlugIn
) -> None:
    """With untrained models, and fewer inputs than the built-in corpus has."""
    from support import tiny, tiny_text

    page = DOCS / "free-text.md"
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(splits, "SIZES", {"train": 12, "validation": 2, "test": 2})
    for kind in ("yaml", "txt", "python"):
        for name, content in blocks(page, kind):
            (tmp_path / (name or "example.py")).write_text(content, "utf-8")
    tokenizer = tiny.tokenizer_of("bytes")
    tokenizer.model_max_length = 1024
    for name in ("my-t5", "my-instruct"):
        tiny_text.generator_model("t5", tokenizer).save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
    said = {line: verax(*shlex.split(line)[1:]) for line in commands_of(page)}
    assert len(said) == 10
    assert "Counterfactual consistency test" in said["verax show runs/mt-ra runs/st-re"]
    assert (tmp_path / "runs" / "mt-ra" / "report.html").is_file()
    exec((tmp_path / "example.py").read_text("utf-8"), {"__name__": "free_text"})  # noqa: S102
    ((_, declared),) = blocks(page, "toml")
    install_plug_in("my-tests", tomllib.loads(declared)["project"]["entry-points"])
    assert "never" in verax("list", "editors")
    spec = {
        "model": "models/mt-ra",
        "data": "world/nli",
        "metrics": [
            {"counterfactual_test": {"editor": {"never": {"words": 1}}}},
            {"reconstruction_test": {"by": "halves"}},
        ],
    }
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(spec), "utf-8")
    assert "MT-Ra, never" in verax("run", "own.yaml")


def test_the_table_of_training_has_every_field() -> None:
    text = read(DOCS / "training.md")
    rows = table(section(text, "All fields"))
    assert list(rows) == list(TrainSpec.model_fields)
    assert list(rows)[:-3] == list(PlainSpec.model_fields), "`train plain` knows all but the last three"
    for name, field in TrainSpec.model_fields.items():
        if isinstance(field.default, int | float):
            assert float(rows[name]) == field.default, name


def test_the_page_of_training_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verax: Callable[..., str]) -> None:
    """The command runs, on fewer instances than the built-in corpus has; the spec is valid."""
    page = DOCS / "training.md"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(splits, "SIZES", {"train": 300, "validation": 40, "test": 40})
    (command,) = commands_of(page)
    assert "verax run --preset attribution-table" in verax(*shlex.split(command)[1:])
    assert (tmp_path / "my-plain" / "curves.svg").is_file()
    ((_, content),) = blocks(page, "yaml")
    assert parse_plain(yaml.safe_load(content)).seeds == (0, 1, 2)
