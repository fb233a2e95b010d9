"""`verax build-highlights` and `verax check-highlights`, from files to tables, on a text and two ciphers of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.metrics import average_precision_score, f1_score

import verax as package
from support.cli import Answer, CallVerax
from verax.results.run import Run

ENGLISH = (
    ("the small red boat sails", "nobody is watching the boat", "yes"),
    ("a tall woman sells warm bread and honey", "children never run", "no"),
    ("two gulls follow the boat", "the wind is not strong", "maybe"),
    ("children walk and whisper", "a woman in a green coat", "no"),
    ("the quiet lake", "nobody is on the shore", "yes"),
    ("they run through the old market", "the library is small", "no"),
)
PARTS = ("premise", "hypothesis")
METHODS = ("saliency", "{input_x_gradient: {aggregate: l2}}", "leave_one_out")


def backwards(words: list[str]) -> tuple[list[str], list[tuple[int, int]]]:
    """Each word spelt backwards, in the opposite order."""
    last = len(words) - 1
    return [word[::-1] for word in reversed(words)], [(i, last - i) for i in range(len(words))]


def doubled(words: list[str]) -> tuple[list[str], list[tuple[int, int]]]:
    """Two words for each but the first, which has none."""
    pieces = [piece for word in words[1:] for piece in (word + "u", word + "o")]
    return pieces, [(i, 2 * (i - 1) + half) for i in range(1, len(words)) for half in (0, 1)]


CIPHERS: dict[str, Callable[[list[str]], tuple[list[str], list[tuple[int, int]]]]] = {"xx": backwards, "yy": doubled}


def expected(lang: str, words: list[int], count: int) -> list[int]:
    """The words of a cipher that stand for some of `count` words."""
    if lang == "en":
        return words
    if lang == "xx":
        return sorted(count - 1 - word for word in words)
    return [2 * (word - 1) + half for word in words if word for half in (0, 1)]


def translated(lang: str, number: int, label: str, parts: dict[str, str]) -> dict[str, Any]:
    cells: dict[str, Any] = {"id": f"{lang}-{number}", "lang": lang, "parallel_id": str(number), "label": label}
    for name, raw in parts.items():
        words, links = CIPHERS[lang](raw.split()) if lang in CIPHERS else (raw.split(), [])
        cells |= {name: " ".join(words), f"{name}_links": " ".join(f"{i}-{j}" for i, j in links)}
    return cells


def write_inputs(folder: Path, model: Path) -> None:
    """Parallel data, a tuning set with gold words, and a spec that names them."""
    inputs = [(number, label, dict(zip(PARTS, pair, strict=True))) for number, (*pair, label) in enumerate(ENGLISH)]
    rows = [translated(lang, *one) for lang in ("en", "xx", "yy") for one in inputs]
    rows[-1] |= {f"{name}_links": None for name in PARTS}  # one that nobody aligned
    write_rows(folder / "parallel.jsonl", rows)
    gold = [[[0, 2], [1]], [[1], []], [[0], [3]], [[2], [0, 1]]]
    tuning = [
        {"premise": pair[0], "hypothesis": pair[1], "label": pair[2], "gold": words}
        for pair, words in zip(ENGLISH, gold, strict=False)
    ]
    write_rows(folder / "tuning.jsonl", tuning)
    spec = {
        "model": str(model),
        "data": {
            "name": "parallel.jsonl",
            "labels": ["yes", "maybe", "no"],
            "columns": {"alignment": [f"{name}_links" for name in PARTS]},
        },
        "tuning": {"name": "tuning.jsonl", "columns": {"gold_words": "gold"}},
        "methods": [yaml.safe_load(one) for one in METHODS],
        "aligner": "given",
        "sample": 2,
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec))


@pytest.fixture(scope="module")
def first(
    tmp_path_factory: pytest.TempPathFactory, checkpoint: Callable[[str], Path]
) -> Callable[[CallVerax], tuple[Path, Answer]]:
    """A folder with inputs and a finished build, made once, and what the command said."""
    folder = tmp_path_factory.mktemp("first")
    kept: list[Answer] = []

    def made(verax: CallVerax) -> tuple[Path, Answer]:
        if not kept:
            write_inputs(folder, checkpoint("bert"))
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                kept.append(build(verax))
        return folder, kept[0]

    return made


@pytest.fixture
def folder(tmp_path: Path, checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where inputs are and nothing is built yet; the working directory."""
    write_inputs(tmp_path, checkpoint("bert"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def built(
    first: Callable[..., tuple[Path, Answer]],
    verax: CallVerax,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Path, Answer]:
    """A copy of the finished build, as the working directory, and what its command said."""
    folder, said = first(verax)
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path, said


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def verax(call_verax: CallVerax) -> CallVerax:
    """Call the command line in the working directory."""
    return call_verax


def build(verax: CallVerax, *more: str | Path) -> Answer:
    return verax("build-highlights", "spec.yaml", "--out", "out", *more)


def normalised_scores(run: Run, method: str) -> dict[str, np.ndarray]:
    """Scores over all words, by the id of the input."""
    found = {row.instance_id: np.array(row.scores) for row in run.highlights() if row.method == method}
    return {name: scores / np.linalg.norm(scores) for name, scores in found.items()}


def test_from_parallel_data_to_highlights_in_every_language(built: tuple[Path, Answer]) -> None:
    folder, said = built
    assert said.code == 0, said.err
    record = json.loads((folder / "out" / "build.json").read_text())
    tuning = Run(folder / "out" / "tuning")
    scores = pd.DataFrame(row for row in tuning.score_rows() if row.method != "random")
    means = scores.groupby("method")["value"].mean().to_dict()
    labels = [one["label"] for one in record["tuned"]["candidates"]]
    assert labels == sorted(means, key=lambda method: -means[method])
    # the threshold: brute force over all words of the tuning set
    scores = normalised_scores(tuning, labels[0])
    gold = np.concatenate([gold_mask(one) for one in tuning.inputs()])
    pooled = np.concatenate([scores[one.id] for one in tuning.inputs()])
    best = max(f1_score(gold, pooled >= cut) for cut in pooled)
    assert f1_score(gold, pooled >= record["threshold"]) == pytest.approx(best)
    assert record["tuned"]["overlap"]["f1"] == pytest.approx(best)
    assert (record["tuned"]["inputs"], record["tuned"]["words"]) == (4, len(gold))
    # highlights: the reference binarised, the ciphers as the links say
    run = Run(folder / "out" / "run")
    scores = normalised_scores(run, labels[0])
    rows = {row["id"]: row for row in read_rows(folder / "out" / "highlights.jsonl")}
    assert rows.pop("yy-5", None) is None
    assert len(rows) == 17
    for number, (*pair, label) in enumerate(ENGLISH):
        counts = [len(part.split()) for part in pair]
        marked = np.split(scores[f"en-{number}"] >= record["threshold"], [counts[0]])
        for lang in ("en", "xx", "yy")[: 2 if number == 5 else 3]:
            row = rows[f"{lang}-{number}"]
            assert (row["lang"], row["parallel_id"], row["label"]) == (lang, str(number), label)
            for name, part, count in zip(PARTS, marked, counts, strict=True):
                assert row[f"{name}_highlights"] == expected(lang, np.flatnonzero(part).tolist(), count)
                words = [row[name][start:end] for start, end in row[f"{name}_highlight_chars"]]
                assert words == [row[f"{name}_words"][word] for word in row[f"{name}_highlights"]]
    assert any(row["premise_highlights"] for row in rows.values())
    # validation: average precision of the method's own scores in each language
    for one in record["languages"]:
        values = []
        for row in rows.values():
            flat = [word in row[f"{name}_highlights"] for name in PARTS for word in range(len(row[f"{name}_words"]))]
            if row["lang"] == one["lang"] and any(flat):
                values.append(average_precision_score(flat, scores[row["id"]]))
        assert one["plausibility"]["value"] == pytest.approx(np.mean(values))
        assert one["n"] + sum(one["skipped"].values()) == one["rows"]
    assert record["languages"][0]["plausibility"]["value"] == 1.0  # the highlights are its own scores
    assert [one["rows"] for one in record["languages"]] == [6, 6, 5]
    assert [one["left_out"] for one in record["languages"]] == [{}, {}, {"no_alignment": 1}]
    assert "no_alignment 1" in said.out


def gold_mask(instance: Any) -> np.ndarray:
    marked = instance.human.words
    return np.array(
        [word in marked[part] for part, text in enumerate(instance.parts) for word in range(len(text.words))]
    )


def test_the_dataset_is_read_again_by_verax_and_by_the_library(
    built: tuple[Path, Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    datasets.disable_progress_bars()
    folder, said = built
    told = next(line for line in said.out.splitlines() if "data: " in line)
    section = json.loads(told.partition("data: ")[2])
    assert section.pop("missing") == "skip"  # one input lacks a language
    name, columns = section["name"], section["columns"]
    rows = {row["id"]: row for row in read_rows(folder / "out" / "highlights.jsonl")}
    read = package.load_dataset(name, columns=columns, missing="skip")
    assert len(read) == 15
    for instance in read.instances:
        row = rows[instance.id]
        assert instance.human is not None
        assert instance.human.words == tuple(tuple(row[f"{name}_highlights"]) for name in PARTS)
        assert (instance.lang, instance.parallel_id) == (row["lang"], row["parallel_id"])
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", folder / "cache")
    for lang in ("en", "xx", "yy"):
        (split,) = datasets.load_dataset("out/dataset", lang, cache_dir=str(folder / "cache")).items()
        assert split[0] == "test"
        assert list(split[1]) == [row for row in rows.values() if row["lang"] == lang]
    everything = package.load_dataset("out/dataset", columns=columns, missing="skip")
    assert {one.id: one.human for one in everything.instances} == {one.id: one.human for one in read.instances}


def test_the_card_tells_how_it_was_made_and_what_it_is_not_for(built: tuple[Path, Answer]) -> None:
    folder, _ = built
    card = (folder / "out" / "dataset" / "README.md").read_text("utf-8")
    _, header, text = card.split("---\n", 2)
    head = yaml.safe_load(header)
    assert head["language"] == ["en", "xx", "yy"]
    assert [one["config_name"] for one in head["configs"]] == ["all", "en", "xx", "yy"]
    run = json.loads((folder / "out" / "build.json").read_text())
    model = Run(folder / "out" / "run").manifest.model
    (method,) = run["method"]
    wanted = [model.hash, f"`{method}`", repr(run["threshold"]), "`given`", "tuning.jsonl", "F1 ", "torch "]
    wanted += ["verax build-highlights spec.yaml", "No person made these highlights", "find it out", "no_alignment 1"]
    assert [one for one in wanted if one not in text] == []


def test_a_second_build_computes_nothing_and_leaves_edited_files_alone(
    built: tuple[Path, Answer], verax: CallVerax
) -> None:
    folder, _ = built
    edited, rows = folder / "out" / "annotations" / "en.tsv", folder / "out" / "highlights.jsonl"
    before = rows.read_bytes()
    edited.write_text("somebody's work")
    rows.unlink()
    said = build(verax)
    assert said.code == 0
    done = [line.split("already done: ")[1].split() for line in said.err.splitlines() if "already done" in line]
    assert len(done) == 2
    assert all(one[0] == one[2] for one in done)
    assert rows.read_bytes() == before
    assert edited.read_text() == "somebody's work"


def test_people_edit_the_sample_and_it_is_compared(built: tuple[Path, Answer], verax: CallVerax) -> None:
    folder, _ = built
    rows = {row["id"]: row for row in read_rows(folder / "out" / "highlights.jsonl")}
    path = folder / "out" / "annotations" / "en.tsv"
    head, *lines = path.read_text("utf-8").splitlines()
    assert head == "id\tlabel\tpremise\thypothesis"
    ids = [line.split("\t")[0] for line in lines]
    assert ids
    assert all(rows[name]["prediction"] == rows[name]["label"] for name in ids)
    same = json.loads(verax("check-highlights", "out", "--format", "json").out)
    assert {(one["precision"], one["recall"], one["edited"]) for one in same} == {(1.0, 1.0, 0)}
    # somebody marks the first word of the first premise alone, and nothing else in that row
    name, label, *_ = lines[0].split("\t")
    premise, hypothesis = (rows[name][part] for part in PARTS)
    first, _, rest = premise.partition(" ")
    path.write_text("\n".join([head, f"{name}\t{label}\t*{first}* {rest}\t{hypothesis}", *lines[1:]]) + "\n")
    automatic = [(one, part, word) for one in ids for part in PARTS for word in rows[one][f"{part}_highlights"]]
    kept = {(name, "premise", 0), *(one for one in automatic if one[0] != name)}
    right = len(kept & set(automatic))
    (english,) = (
        one for one in json.loads(verax("check-highlights", "out", "--format", "json").out) if one["language"] == "en"
    )
    assert english["precision"] == pytest.approx(right / len(automatic))
    assert english["recall"] == pytest.approx(right / len(kept))
    assert english["f1"] == pytest.approx(2 * right / (len(automatic) + len(kept)))
    assert (english["rows"], english["edited"]) == (len(ids), 1)
    for lang in ("xx", "yy"):
        (folder / "out" / "annotations" / f"{lang}.tsv").unlink(missing_ok=True)
    said = verax("check-highlights", "out", "--format", "markdown")
    assert said.out.count("\n| ") == 3
    assert "warning" not in said.err


@pytest.mark.usefixtures("built")
def test_files_that_nobody_edited_are_warned_of(verax: CallVerax) -> None:
    said = verax("check-highlights", "out")
    assert "nothing was changed in en" in said.err
    assert "Precision" in said.out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda lines: [lines[0], lines[1].replace("a", "i"), *lines[2:]],
            "annotations/en.tsv:2: field 'premise': the",
        ),
        (lambda lines: [lines[0], "zz" + lines[1], *lines[2:]], "en.tsv:2: field 'id': unknown id 'zzen-"),
        (lambda lines: [lines[0], lines[1], *lines[1:]], "duplicate id"),
        (lambda lines: lines[:-1], "en.tsv: the row of 'en-"),
        (lambda lines: [lines[0], lines[1] + "*", *lines[2:]], "field 'hypothesis': an asterisk has no partner"),
        (lambda lines: ["id\tlabel\tpremise\tother", *lines[1:]], "en.tsv:1: the column 'hypothesis' is missing"),
    ],
)
def test_mistakes_in_an_edited_file_are_named_by_file_and_line(
    built: tuple[Path, Answer], verax: CallVerax, change: Callable[[list[str]], list[str]], said: str
) -> None:
    folder, _ = built
    path = folder / "out" / "annotations" / "en.tsv"
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) > 2
    path.write_text("\n".join(change(lines)) + "\n", "utf-8")
    got = verax("check-highlights", "out")
    assert got.code == 2
    assert got.err.count("\n") == 1
    assert said in got.err


def test_method_and_threshold_that_are_given_need_no_tuning(folder: Path, verax: CallVerax) -> None:
    content = yaml.safe_load((folder / "spec.yaml").read_text())
    del content["tuning"]
    (folder / "spec.yaml").write_text(yaml.safe_dump(content))
    said = build(verax, "--method", "saliency: {target: loss}", "--threshold", "0.4", "--sample", "0")
    assert said.code == 0, said.err
    assert "(both given)" in said.out
    assert "warning" not in said.err
    assert not (folder / "out" / "tuning").exists()
    record = json.loads((folder / "out" / "build.json").read_text())
    assert (record["threshold"], record["tuned"], record["sample"]) == (0.4, None, {})
    assert "not tuned" in (folder / "out" / "dataset" / "README.md").read_text("utf-8")


def test_what_the_run_warns_of_is_told(folder: Path, verax: CallVerax) -> None:
    rows = read_rows(folder / "parallel.jsonl")
    renamed = [{**row, "label": "unheard of"} if row["parallel_id"] == "0" else row for row in rows]
    write_rows(folder / "parallel.jsonl", renamed)
    content = yaml.safe_load((folder / "spec.yaml").read_text())
    del content["data"]["labels"]
    (folder / "spec.yaml").write_text(yaml.safe_dump(content))
    said = build(verax, "--method", "saliency: {target: loss}", "--threshold", "0.3")
    assert "warning: 3 of 18 instances have a label that the model has no class for" in said.err
    record = json.loads((folder / "out" / "build.json").read_text())
    assert [one["rows"] for one in record["languages"]] == [5, 5, 4]  # its loss can't be explained: it is left out


def test_a_model_of_its_own_for_the_tuning_set(folder: Path, verax: CallVerax) -> None:
    from support import tiny

    tiny.save("bert", folder / "other", seed=1)
    # another seed, and a method that draws by it
    said = build(verax, "--tuning-model", "other", "--methods", "lime", "--methods", "saliency", "--seed", "3")
    assert said.code == 0, said.err
    record = json.loads((folder / "out" / "build.json").read_text())
    assert {one["label"]: one["n"] for one in record["tuned"]["candidates"]} == {"lime": 4, "saliency": 4}
    hashes = [Run(folder / "out" / name).manifest.model.hash for name in ("tuning", "run")]
    assert hashes[0] != hashes[1]
    card = (folder / "out" / "dataset" / "README.md").read_text("utf-8")
    assert all(one in card for one in hashes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tuning": {"name": "tuning.jsonl"}}, "tuning: none of the 4 inputs of tuning.jsonl has human highlights"),
        ({"data": {"name": "tuning.jsonl"}}, "data: no input of tuning.jsonl has a parallel id"),
        ({"reference": "de"}, "reference: unknown language 'de'; valid: en, xx, yy"),
        ({"aligner": "givn"}, "unknown aligner 'givn'; did you mean 'given'?"),
        ({"methods": ["louvain"]}, "does not score words"),
        ({"threshold": 5.0}, "no word of the 18 inputs of parallel.jsonl is highlighted: the threshold is 5"),
        ({"model": ""}, "model is missing: give --model"),
    ],
)
def test_bad_input_is_one_clear_line(folder: Path, verax: CallVerax, change: dict[str, Any], said: str) -> None:
    content = yaml.safe_load((folder / "spec.yaml").read_text())
    (folder / "spec.yaml").write_text(yaml.safe_dump({**content, **change}))
    got = build(verax)
    assert got.code == 2
    assert got.err.count("error: ") == 1
    assert said in got.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--method", "3"), "spec: method: expected a name, or {name: {parameter: value}}, got 3"),
        (("--aligner", "[a]"), "spec: aligner: expected a name, or {name: {parameter: value}}, got ['a']"),
        (("--method", "{3: {}}"), "spec: method: expected a name, or {name: {parameter: value}}, got {3: {}}"),
        (("--methods", "{a: {}, b: {}}"), "spec: methods.0: expected a name, or {name: {parameter: value}}, got {'a'"),
        (("--method", ""), "--method: got ''; write a name, or name: {parameter: value}"),
        (("--out", "spec.yaml/x"), "spec.yaml/x cannot be written to: Not a directory"),
        (("--out", "spec.yaml"), "spec.yaml is a file; name a folder"),
        (("--out", "/proc/verax"), "/proc/verax cannot be written to: No such file or directory"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_bad_flags_are_one_clear_line(verax: CallVerax, flags: tuple[str, str], said: str) -> None:
    got = build(verax, *flags)
    assert (got.code, got.out) == (2, "")
    assert got.err.splitlines()[-1].startswith(f"error: {said}")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"sample": ["en"]}, "sample: expected a list of ids for each language"),
        ({"sample": {"en": "1"}}, "sample: expected a list of ids for each language"),
        ({"sample": {"en": [["1"]]}}, "sample: expected a list of ids for each language"),
        ({"sample": {"en": ["1"]}}, "parts: expected a list of names"),
        ({"sample": {"en": ["1"]}, "parts": {"premise": 1}}, "parts: expected a list of names"),
    ],
)
def test_a_record_of_another_shape_is_damaged(
    verax: CallVerax, tmp_path: Path, record: dict[str, Any], said: str
) -> None:
    (tmp_path / "build.json").write_text(json.dumps(record))
    got = verax("check-highlights", tmp_path)
    assert (got.code, got.out) == (2, "")
    assert got.err == f"error: {tmp_path / 'build.json'} is damaged: {said}\n"


def test_an_aligner_that_links_nothing_is_refused(folder: Path, verax: CallVerax) -> None:
    rows = read_rows(folder / "parallel.jsonl")
    write_rows(folder / "parallel.jsonl", [{**row, **{f"{name}_links": " " for name in PARTS}} for row in rows])
    got = build(verax, "--method", "saliency", "--threshold", "0.3")
    assert got.code == 2
    assert "aligner: given links no word of any of the 12 translations" in got.err.splitlines()[-1]
    # nothing was written, so the folder is free for another try, which explains nothing again
    again = build(verax, "--method", "saliency", "--threshold", "0.3", "--aligner", "random")
    assert again.code == 0, again.err
    assert "already done: 20 of 20 rows" in again.err
    assert "already done: 54 of 54 rows" in again.err


def test_a_folder_that_holds_something_else_is_refused(built: tuple[Path, Answer], verax: CallVerax) -> None:
    folder, _ = built
    for older in (False, True):
        if older:  # as it was before there was artifact.json
            (folder / "out" / "artifact.json").unlink()
        other = build(verax, "--threshold", "0.4")
        assert other.code == 2
        assert "out holds another build of highlights: threshold was null and is now 0.4; choose" in other.err
        assert build(verax).code == 0
    (folder / "out" / "artifact.json").unlink()
    (folder / "out" / "build.json").write_text('{"identity": [1]}')
    assert f"error: {Path('out') / 'build.json'} is damaged: identity: expected an object" in build(verax).err
    shutil.rmtree(folder / "out")
    (folder / "out").mkdir()
    (folder / "out" / "thesis.txt").write_text("mine")
    assert "out contains other files ('thesis" in build(verax).err
    assert "holds no build of highlights" in verax("check-highlights", "out").err


def test_a_build_that_was_stopped_is_not_checked_and_goes_on(
    folder: Path, verax: CallVerax, monkeypatch: pytest.MonkeyPatch
) -> None:
    import verax.jobs.highlights.build as building

    with monkeypatch.context() as patch:
        patch.setattr(building, "write_parquet", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert build(verax).code == 130
    assert "the build is not finished" in verax("check-highlights", "out").err
    assert build(verax).code == 0
    assert verax("check-highlights", "out").code == 0
