"""Public data sets by name, against Table 2 of Madsen, Reddy and Chandar 2024; the hub is a folder of our own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from verax.data.formats import SPLITS, four_fifths
from verax.data.load import load_dataset
from verax.data.public import sets
from verax.data.public.loaders import Babi, Clinical, OnHub, shuffled
from verax.jobs.training.spec import TrainSpec
from verax.registry import built_in
from verax.run.spec import parse
from verax.types import UserError

NAMES = [name for name, entry in built_in("datasets").items() if entry.kind == "public"]

# Table 2: sizes, masked and auxiliary part, metric. Clinical notes and bAbI have no public sizes to begin from.
TABLE_2 = {
    "rte": ((1992, 498, 277), ["sentence1", "sentence2"], "accuracy"),
    "snli": ((549367, 9842, 9824), ["premise", "hypothesis"], "macro_f1"),
    "mnli": ((314162, 78540, 9815), ["premise", "hypothesis"], "accuracy"),
    "qnli": ((83794, 20949, 5463), ["sentence", "question"], "accuracy"),
    "cb": ((200, 50, 56), ["premise", "hypothesis"], "macro_f1"),
    "mrpc": ((2934, 734, 408), ["sentence1", "sentence2"], "macro_f1"),
    "qqp": ((291077, 72769, 40430), ["question1", "question2"], "macro_f1"),
    "sst2": ((53879, 13470, 872), ["sentence"], "accuracy"),
    "imdb": ((20000, 5000, 25000), ["text"], "macro_f1"),
    "cola": ((6841, 1710, 1043), ["sentence"], "matthews"),
    "boolq": ((7542, 1885, 3270), ["passage", "question"], "accuracy"),
}

# As they are on the hub: rows of each split, columns in their order there, class names.
HUB: dict[str, tuple[str, dict[str, int], list[str], list[str]]] = {
    "rte": (
        "nyu-mll/glue:rte",
        {"train": 2490, "validation": 277, "test": 3000},
        ["sentence1", "sentence2"],
        ["entailment", "not_entailment"],
    ),
    "snli": (
        "stanfordnlp/snli",
        {"test": 10000, "validation": 10000, "train": 550152},
        ["premise", "hypothesis"],
        ["entailment", "neutral", "contradiction"],
    ),
    "mnli": (
        "nyu-mll/glue:mnli",
        {
            "train": 392702,
            "validation_matched": 9815,
            "validation_mismatched": 9832,
            "test_matched": 9796,
            "test_mismatched": 9847,
        },
        ["premise", "hypothesis"],
        ["entailment", "neutral", "contradiction"],
    ),
    "qnli": (
        "nyu-mll/glue:qnli",
        {"train": 104743, "validation": 5463, "test": 5463},
        ["question", "sentence"],
        ["entailment", "not_entailment"],
    ),
    "cb": (
        "aps/super_glue:cb",
        {"train": 250, "validation": 56, "test": 250},
        ["premise", "hypothesis"],
        ["entailment", "contradiction", "neutral"],
    ),
    "mrpc": (
        "nyu-mll/glue:mrpc",
        {"train": 3668, "validation": 408, "test": 1725},
        ["sentence1", "sentence2"],
        ["not_equivalent", "equivalent"],
    ),
    "qqp": (
        "nyu-mll/glue:qqp",
        {"train": 363846, "validation": 40430, "test": 390965},
        ["question1", "question2"],
        ["not_duplicate", "duplicate"],
    ),
    "sst2": (
        "nyu-mll/glue:sst2",
        {"train": 67349, "validation": 872, "test": 1821},
        ["sentence"],
        ["negative", "positive"],
    ),
    "imdb": ("stanfordnlp/imdb", {"train": 25000, "test": 25000, "unsupervised": 50000}, ["text"], ["neg", "pos"]),
    "cola": (
        "nyu-mll/glue:cola",
        {"train": 8551, "validation": 1043, "test": 1063},
        ["sentence"],
        ["unacceptable", "acceptable"],
    ),
    "boolq": (
        "aps/super_glue:boolq",
        {"train": 9427, "validation": 3270, "test": 3245},
        ["question", "passage"],
        ["False", "True"],
    ),
}
UNLABELLED = {"train": 785, "validation": 158, "test": 176}  # rows of snli on which the annotators did not agree

# The folder of that name under the current one stands in for the hub; the library reads its settings when it is
# imported, so it is written and read in a process of its own. A text says where it stands: "premise of train 17".
CHILD = """
import json, os, sys
from pathlib import Path
import datasets, yaml
from datasets import ClassLabel, Dataset, Features, Value
from verax.data.load import load_dataset
from verax.types import UserError

SIZES = {"train": 23, "validation": 7, "validation_matched": 8, "test": 6}
configs = {}
for name, (path, splits, parts, classes) in json.loads(sys.argv[1]).items():
    folder, _, configuration = path.partition(":")
    configuration = configuration or "plain_text"
    Path(folder, configuration).mkdir(parents=True)
    features = Features({**{part: Value("string") for part in parts}, "label": ClassLabel(names=classes)})
    files = []
    for split in splits:
        n = SIZES.get(split, 5)
        hidden = split.startswith("test") and name not in ("snli", "imdb", "mrpc") or split == "unsupervised"
        labels = [-1 if hidden else row * len(classes) // n for row in range(n)]  # sorted by label
        if name == "snli":
            labels[1] = labels[4] = -1
        columns = {part: [f"{part} of {split} {row}" for row in range(n)] for part in parts}
        table = Dataset.from_dict({**columns, "label": labels}, features=features)
        table.to_parquet(f"{folder}/{configuration}/{split}.parquet")
        files.append({"split": split, "path": f"{configuration}/{split}.parquet"})
    configs.setdefault(folder, []).append({"config_name": configuration, "data_files": files})
for folder, listed in configs.items():
    Path(folder, "README.md").write_text("---\\n" + yaml.safe_dump({"configs": listed}) + "---\\n")

def told(name, **options):
    try:
        dataset = load_dataset(name, **options)
    except UserError as error:
        return str(error)
    rows = [[x.id, [part.raw for part in x.parts], x.label] for x in dataset.instances]
    about = {"name": dataset.name, "labels": dataset.labels, "maskable": dataset.maskable, "metric": dataset.metric}
    return {"rows": rows, **about, "provenance": dict(dataset.provenance)}

answers = {}
for name in json.loads(sys.argv[1]):
    answers[name] = {split: told(name, split=split) for split in ("train", "validation", "test")}
    answers[name]["default"] = told(name)
    answers[name]["other seed"] = told(name, split="train", seed=5)
    answers[name]["limit"] = told(name, split="train", limit=3)
    answers[name]["wrong split"] = told(name, split="validation_matched")

# The same set with other class names, read as if for the first time.
os.mkdir("other")
os.chdir("other")
datasets.config.HF_DATASETS_CACHE = Path("cache").absolute()
Path("nyu-mll/glue").mkdir(parents=True)
features = Features({"sentence1": Value("string"), "sentence2": Value("string"), "label": ClassLabel(names=["a", "b"])})
table = Dataset.from_dict({"sentence1": ["x"], "sentence2": ["y"], "label": [0]}, features=features)
table.to_parquet("nyu-mll/glue/validation.parquet")
listed = [{"config_name": "rte", "data_files": [{"split": "validation", "path": "validation.parquet"}]}]
Path("nyu-mll/glue/README.md").write_text("---\\n" + yaml.safe_dump({"configs": listed}) + "---\\n")
answers["other names"] = told("rte")
answers["no train"] = told("rte", split="train")
print("ANSWERS" + json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("public")
    settings = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home"), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    child = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(HUB)],
        env=os.environ | settings,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    answer: dict[str, Any] = json.loads(child.stdout.partition("ANSWERS")[2])
    return answer


def test_the_sixteen_of_table_2_are_there_and_each_name_leads_to_itself() -> None:
    local = {"anemia", "diabetes", "babi-1", "babi-2", "babi-3"}
    assert set(NAMES) == {*TABLE_2, *local}
    for name in NAMES:
        entry = built_in("datasets")[name]
        made = getattr(sets, entry.target.partition(":")[2])
        assert isinstance(made, OnHub if name in TABLE_2 else Clinical | Babi)
        assert made.name == name
        assert entry.reference


def test_the_epochs_of_table_3_are_the_default_of_a_training() -> None:
    table_3 = {
        "boolq": 15, "cb": 50, "cola": 15, "imdb": 10, "anemia": 20, "diabetes": 20, "mnli": 10, "mrpc": 20,
        "qnli": 20, "qqp": 10, "rte": 30, "snli": 10, "sst2": 10, "babi-1": 20, "babi-2": 20, "babi-3": 20,
    }  # fmt: skip
    for name, epochs in table_3.items():
        assert parse(TrainSpec, {"base": "b", "data": name}).recipe().epochs == epochs, name
    assert parse(TrainSpec, {"base": "b", "data": "mine.jsonl"}).recipe().epochs == 10
    assert parse(TrainSpec, {"base": "b", "data": "esnli"}).recipe().epochs == 10
    assert parse(TrainSpec, {"base": "b", "data": "cb", "epochs": 3}).recipe().epochs == 3


def test_the_page_tells_of_each_what_the_code_does() -> None:
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\w-]+) \| (.*) \| (\w+) \| (\d+), (\d+), (\d+) \| (.*) \|$", page, flags=re.M)
    told = {name: (tuple(map(int, sizes)), parts.split(", "), metric) for name, parts, metric, *sizes, _ in rows}
    babi = ((8000, 2000, 1000), ["paragraph", "question"], "micro_f1")
    assert told == {
        **TABLE_2,
        "anemia": ((4262, 729, 1243), ["text"], "macro_f1"),
        "diabetes": ((8066, 1573, 1729), ["text"], "macro_f1"),
        **dict.fromkeys(("babi-1", "babi-2", "babi-3"), babi),
    }
    assert {row[0]: row[-1] for row in rows if row[0] in HUB} == {name: f"`{HUB[name][0]}`" for name in HUB}


@pytest.mark.parametrize("name", TABLE_2)
def test_the_sizes_of_table_2_follow_from_the_public_ones(name: str) -> None:
    _, public, _, _ = HUB[name]
    made: OnHub = getattr(sets, name)
    sizes = []
    for split, behind in zip(SPLITS, made.behind, strict=True):
        n = public[behind]
        picked = made._pick(split, behind, n)
        assert len(set(picked.values())) == len(picked)
        sizes.append(len(picked) - (UNLABELLED[behind] if name == "snli" else 0))
    assert tuple(sizes) == TABLE_2[name][0]


@pytest.mark.parametrize("name", TABLE_2)
def test_parts_metric_and_classes_are_those_of_table_2(name: str, answers: dict[str, Any]) -> None:
    _, parts, metric = TABLE_2[name]
    path, _, _, classes = HUB[name]
    for split in SPLITS:
        found = answers[name][split]
        assert (found["name"], found["metric"], found["labels"]) == (name, metric, classes)
        assert found["maskable"] == ([0] if len(parts) == 2 else None)
        for _, texts, label in found["rows"]:
            assert [text.partition(" of ")[0] for text in texts] == parts
            assert label in classes
        assert found["provenance"]["name"] == path
        assert found["provenance"]["split"] == split
        assert found["provenance"]["citation"] == built_in("datasets")[name].reference
    assert answers[name]["default"] == answers[name]["test"]


@pytest.mark.parametrize("name", [name for name in TABLE_2 if name != "snli"])
def test_the_public_train_split_is_cut_and_test_is_a_split_with_labels(name: str, answers: dict[str, Any]) -> None:
    train, validation, test = ([row[1][0] for row in answers[name][split]["rows"]] for split in SPLITS)
    part = TABLE_2[name][1][0]
    assert (len(train), len(validation)) == (18, 5)
    assert {*train, *validation} == {f"{part} of train {row}" for row in range(23)}
    behind, n = {"mnli": ("validation_matched", 8), "imdb": ("test", 6)}.get(name, ("validation", 7))
    assert set(test) == {f"{part} of {behind} {row}" for row in range(n)}
    assert len(test) == n
    assert answers[name]["validation"]["provenance"]["public_split"] == "train"
    assert answers[name]["test"]["provenance"]["public_split"] == behind


def test_snli_has_its_own_splits_without_the_rows_that_have_no_label(answers: dict[str, Any]) -> None:
    for split, n in (("train", 23), ("validation", 7), ("test", 6)):
        found = [row[1][0] for row in answers["snli"][split]["rows"]]
        assert sorted(found) == sorted(f"premise of {split} {row}" for row in range(n) if row not in {1, 4})


@pytest.mark.parametrize("name", TABLE_2)
def test_an_id_says_where_its_row_is_and_no_two_are_the_same(name: str, answers: dict[str, Any]) -> None:
    ids = []
    for split in SPLITS:
        for own, texts, label in answers[name][split]["rows"]:
            row = int(texts[0].rpartition(" ")[2])
            assert own == f"{name}/{split}/{row:05d}"
            public = answers[name][split]["provenance"]["public_split"]
            n = {"train": 23, "validation": 7, "validation_matched": 8, "test": 6}[public]
            assert label == HUB[name][3][row * len(HUB[name][3]) // n]
            ids.append(own)
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", TABLE_2)
def test_the_order_is_mixed_the_same_for_every_seed_and_cut_short_by_a_limit(
    name: str, answers: dict[str, Any]
) -> None:
    rows = answers[name]["train"]["rows"]
    assert answers[name]["other seed"]["rows"] == rows
    assert answers[name]["limit"]["rows"] == rows[:3]
    assert answers[name]["limit"]["provenance"]["limit"] == "3"
    assert sorted(rows) != rows


def test_a_split_that_is_not_ours_is_refused(answers: dict[str, Any]) -> None:
    for name in TABLE_2:
        message = f"{name}: unknown split 'validation_matched'; did you mean 'validation'?"
        assert answers[name]["wrong split"] == message


def test_other_class_names_than_those_of_the_paper_are_refused(answers: dict[str, Any]) -> None:
    message = "nyu-mll/glue:rte: row 1: field 'label': unknown label 'a'; valid: entailment, not_entailment"
    assert answers["other names"] == message
    assert answers["no train"] == "nyu-mll/glue:rte: unknown split 'train'; valid: validation"


def test_the_fixed_order_is_known() -> None:
    """Written down once: another order would make another train split of everybody's."""
    assert shuffled("rte/train", 8) == [7, 4, 2, 5, 6, 0, 1, 3]
    assert [four_fifths(n) for n in (0, 1, 2, 3, 4, 5, 10)] == [0, 1, 2, 2, 3, 4, 8]


def test_a_sorted_split_is_well_mixed() -> None:
    """Half of 25000 rows are negative: a fair cut has 10000 of these in train, with a standard deviation of 32."""
    train = shuffled("imdb/train", 25000)[:20000]
    assert abs(sum(row < 12500 for row in train) - 10000) < 4 * 32
    assert shuffled("imdb/train", 100) != shuffled("imdb/test", 100)


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_split_names_the_valid_ones(name: str) -> None:
    with pytest.raises(UserError) as caught:
        load_dataset(name, split="dev")
    assert str(caught.value) == f"{name}: unknown split 'dev'; valid: test, train, validation"


@pytest.mark.parametrize("name", TABLE_2)
def test_without_the_extra_the_command_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError) as caught:
        load_dataset(name)
    assert str(caught.value) == f"{name}: Hugging Face datasets need an optional extra: pip install 'verax[datasets]'"


def test_offline_one_line_tells_that_the_hub_can_not_be_reached(tmp_path: Path) -> None:
    code = (
        "from verax import load_dataset, UserError\ntry: load_dataset('rte')\nexcept UserError as error: print(error)"
    )
    settings = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    child = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | settings,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout.startswith("rte: it is not available from the Hugging Face hub: ")
    assert len(child.stdout.splitlines()) == 1


def test_a_public_set_takes_no_columns() -> None:
    with pytest.raises(UserError, match="columns: not supported here, since rte is a registered dataset; got"):
        load_dataset("rte", columns={"parts": "text"})


def test_the_built_in_pairs_mask_the_premise_alone() -> None:
    pairs, opinions = load_dataset("world/nli", limit=1), load_dataset("world/opinion", limit=1)
    assert (pairs.maskable, pairs.metric) == ((0,), "accuracy")
    assert (opinions.maskable, opinions.metric) == (None, "accuracy")


# Clinical notes


def notes(folder: Path, name: str, split: str, *rows: dict[str, Any]) -> Path:
    path = folder / name / f"{split}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "labels"), [("anemia", ("acute", "chronic")), ("diabetes", ("no_diabetes", "diabetes"))]
)
def test_clinical_notes_are_read_from_a_folder_of_ones_own(
    name: str, labels: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERAX_DATA", str(tmp_path))
    notes(tmp_path, name, "train", {"text": "pt stable", "label": labels[1]}, {"text": "pt weak", "label": 0})
    notes(tmp_path, name, "test", {"text": "pt pale", "label": "1"})
    train, test = load_dataset(name, split="train"), load_dataset(name)
    assert [(x.id, x.label) for x in train.instances] == [
        (f"{name}/train/00000", labels[1]),
        (f"{name}/train/00001", labels[0]),
    ]
    assert [(x.id, x.label) for x in test.instances] == [(f"{name}/test/00000", labels[1])]
    assert (train.name, train.labels, train.maskable, train.metric) == (name, labels, None, "macro_f1")
    assert len(load_dataset(name, split="train", limit=1)) == 1


def test_clinical_notes_that_are_missing_or_wrong_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> str:
        with pytest.raises(UserError) as caught:
            load_dataset("anemia", split="validation")
        return str(caught.value)

    put = (
        "anemia: put anemia/validation.jsonl (objects with text and label, made from MIMIC-III) into a folder and "
        "set the environment variable VERAX_DATA to it; "
    )
    monkeypatch.delenv("VERAX_DATA", raising=False)
    assert refused() == put + "it is not set"
    monkeypatch.setenv("VERAX_DATA", str(tmp_path / "nowhere"))
    assert refused() == put + f"it is {str(tmp_path / 'nowhere')!r}, which is not a folder"
    monkeypatch.setenv("VERAX_DATA", str(tmp_path))
    path = tmp_path / "anemia" / "validation.jsonl"
    assert refused() == f"anemia: {path} not found; create it from MIMIC-III, as objects with text and label"
    notes(tmp_path, "anemia", "validation", {"text": "a", "label": "chronical"})
    assert refused() == f"{path}:1: field 'label': unknown label 'chronical'; did you mean 'chronic'?"
    notes(tmp_path, "anemia", "validation", {"note": "a", "label": 0})
    assert refused().startswith(f"{path}:1: unknown column 'text'; ")
