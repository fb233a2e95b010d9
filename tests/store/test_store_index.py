import json
import random

import pytest

from support.stored import read_run
from verax.store.folder import find_index
from verax.store.keys import canonical_json, hash_bytes
from verax.store.shards import Damaged, Shard, ShardIndex, read_index
from verax.store.store import Store
from verax.types import UserError


@pytest.fixture
def run(tmp_path, fill):
    """A run of two seals of five rows, and two rows in the journal."""
    fill(tmp_path / "run", range(5), seal=True)
    fill(tmp_path / "run", range(5, 10), seal=True)
    fill(tmp_path / "run", range(10, 12), seal=False)
    return tmp_path / "run"


def sign(body):
    return json.dumps(body | {"checksum": hash_bytes(canonical_json(body))})


def test_the_index_comes_back(tmp_path):
    index = ShardIndex(12, (Shard("scores-000001.parquet", "scores", 3, "ab"),))
    (tmp_path / "manifest.json").write_bytes(index.to_bytes())
    assert read_index(tmp_path) == index
    assert index.journal == "journal-000012.log"


def test_a_flipped_bit_anywhere_in_the_index_costs_nothing(tmp_path, make_row):
    """A bit of every byte: the index is rebuilt from the journal."""
    path = tmp_path / "manifest.json"
    with Store.open(tmp_path) as store:
        store.append("k", make_row(4))
    whole, sound = path.read_bytes(), read_index(tmp_path)
    dice = random.Random(5)
    for at in range(len(whole)):
        flipped = whole[:at] + bytes([whole[at] ^ 1 << dice.randrange(8)]) + whole[at + 1 :]
        path.write_bytes(flipped)
        index, problem = find_index(tmp_path)
        assert index == sound
        # A space that became another blank is the same JSON: nothing is wrong then.
        same = whole[at] in b" \n" and flipped[at] in b" \t\r\n"
        assert problem == (None if same else "manifest.json is damaged; it was rebuilt from journal-000002.log")


def test_a_damaged_index_is_rebuilt(run, make_row):
    path = run / "manifest.json"
    whole = path.read_bytes()
    dice = random.Random(3)
    for _ in range(20):
        at = dice.randrange(whole.index(b"shards"), len(whole))
        path.write_bytes(whole[:at] + b"?" + whole[at + 1 :])
        assert "manifest.json is damaged; it was rebuilt from journal-000003.log" in read_run(run).damaged
        with Store.open(run) as store:
            assert store.keys == {f"k{number}" for number in range(12)}
            assert store.repaired == ("manifest.json is damaged; it was rebuilt from journal-000003.log",)
            store.seal = lambda: None
        assert path.read_bytes() == whole


def test_a_missing_index_is_rebuilt(run):
    whole = (run / "manifest.json").read_bytes()
    (run / "manifest.json").unlink()
    with Store.open(run) as store:
        assert store.keys == {f"k{number}" for number in range(12)}
        assert "manifest.json is missing" in store.repaired[0]
        assert (run / "manifest.json").read_bytes() == whole


def test_no_index_and_no_journal_to_rebuild_it_from_is_one_clear_line(run):
    (run / "manifest.json").write_text("{")
    (run / "journal-000003.log").write_bytes(b"")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for look in (Store.open, read_run):
        with pytest.raises(UserError, match=r"cannot be opened: manifest\.json is damaged, and no journal has a copy"):
            look(run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_run_of_a_later_format_is_left_alone(run):
    body = json.loads((run / "manifest.json").read_text()) | {"format": 2, "shards": [{"new": 1}], "more": True}
    body.pop("checksum")
    (run / "manifest.json").write_text(sign(body))
    (run / "shards" / "scores-000077.parquet").write_bytes(b"new")
    for look in (Store.open, read_run):
        with pytest.raises(UserError, match=r"has format 2, and this version of verax reads formats up to 1: upgrade"):
            look(run)
    assert (run / "shards" / "scores-000077.parquet").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"journal": "../journal-000003.log"},
        {"journal": 3},
        {"shards": [{"name": "../../x.parquet", "table": "scores", "rows": 1, "sha256": ""}]},
        {"shards": [{"name": "scores-000001.parquet", "table": "instances", "rows": 1, "sha256": ""}]},
        {"shards": [{"name": "scores-000001.parquet"}]},
        {"shards": None},
    ],
    ids=str,
)
def test_an_index_with_other_file_names_is_not_followed(run, change):
    body = json.loads((run / "manifest.json").read_text()) | change
    body.pop("checksum")
    (run / "manifest.json").write_text(sign(body))
    with pytest.raises(Damaged, match="was not written by verax"):
        read_index(run)


@pytest.mark.parametrize("text", ["", "[]", "null", '{"format": NaN}', "\xff", "{}"])
def test_a_file_that_is_no_index_is_damaged(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(Damaged):
        read_index(tmp_path)
