import random
import shutil

import pytest

from support.stored import read_run
from verax.store.journal import Journal, frame, read_journal, unpack
from verax.store.shards import Damaged
from verax.store.store import Store

ROWS = 4


@pytest.fixture
def run(tmp_path, fill):
    """A run with five sealed rows and four in its journal."""
    fill(tmp_path / "run", range(5), seal=True)
    fill(tmp_path / "run", range(5, 5 + ROWS), seal=False)
    return tmp_path / "run"


def ends_of(data):
    """Where each record ends, read from the lengths alone."""
    ends, at = [], 0
    while at < len(data):
        at += 8 + int.from_bytes(data[at : at + 4], "little")
        ends.append(at)
    return ends


def test_a_journal_cut_at_any_byte_is_read_up_to_its_last_whole_record(tmp_path, make_row):
    """Every byte offset: nothing whole is lost, nothing half is read, and writing goes on."""
    run, path = tmp_path, tmp_path / "journal-000001.log"
    with Store.open(run) as store:
        for number in (3, 4):
            store.append(f"k{number}", make_row(number))
        store.seal = lambda: None
    manifest, whole = (run / "manifest.json").read_bytes(), path.read_bytes()
    ends = ends_of(whole)
    assert ends[-1] == len(whole)
    assert len(ends) == 3
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = ["k3", "k4"][: max(0, sum(end <= size for end in ends) - 1)]
        stored = read_run(run)
        assert len(stored.skips) + len(stored.scores) == len(kept)
        with Store.open(run) as store:
            assert store.keys == set(kept), size
            assert bool(store.repaired) == (size not in ends), size
            store.append("new", make_row(9))
            store.seal = lambda: None
        assert [unpack(payload)[1]["key"] for payload in read_journal(path).payloads] == [*kept, "new"]
        assert (run / "manifest.json").read_bytes() == manifest
        shutil.rmtree(run / "quarantine", ignore_errors=True)


def test_a_flipped_bit_at_any_byte_leaves_the_rows_before_it_and_is_told(tmp_path, fill):
    fill(tmp_path, range(ROWS), seal=False)
    path = tmp_path / "journal-000001.log"
    whole = path.read_bytes()
    ends = ends_of(whole)
    dice = random.Random(1)
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << dice.randrange(8)]) + whole[at + 1 :])
        hit = sum(end <= at for end in ends)
        if hit == 0:
            with pytest.raises(Damaged, match="no complete first record"):
                read_journal(path)
            continue
        contents = read_journal(path)
        assert len(contents.payloads) == hit - 1
        assert contents.end == ends[hit - 1]
        assert len(contents.rescued) == ROWS - hit, at


@pytest.mark.parametrize("place", ["length", "payload"])
def test_damage_in_the_middle_costs_one_row_and_is_told(run, place):
    path = run / "journal-000002.log"
    data = bytearray(path.read_bytes())
    data[ends_of(data)[2] + (1 if place == "length" else 30)] ^= 0x40
    path.write_bytes(data)
    stored = read_run(run)
    assert stored.damaged == (
        f"journal-000002.log is damaged at byte {ends_of(bytes(data))[2]}; the rows there cannot be read",
    )
    intact = {f"k{number}" for number in range(9)} - {"k7"}
    with Store.open(run) as store:
        assert store.keys == intact
        assert len(store.repaired) == 1
        assert "a damaged record at byte" in store.repaired[0]
    assert (run / "quarantine" / "journal-000002.log").read_bytes() == data
    with Store.open(run) as store:
        assert store.keys == intact
        assert len(list(store.rows())) == 8
        assert store.repaired == ()


def test_a_journal_with_no_beginning_is_kept_aside(run):
    path = run / "journal-000002.log"
    rotten = b"\xff" + path.read_bytes()[1:]
    path.write_bytes(rotten)
    assert read_run(run).damaged == ("journal-000002.log has no complete first record",)
    with Store.open(run) as store:
        assert store.keys == {f"k{number}" for number in range(9)}, "its rows are intact"
        assert "4 rows are kept, and others that were not sealed yet will be computed again" in store.repaired[0]
    assert (run / "quarantine" / "journal-000002.log").read_bytes() == rotten


def test_a_journal_that_vanished_is_told(run):
    (run / "journal-000002.log").unlink()
    assert read_run(run).damaged == ("journal-000002.log is missing",)
    with Store.open(run) as store:
        assert store.keys == {f"k{number}" for number in range(5)}
        assert "journal-000002.log is missing" in store.repaired[0]


def test_zeros_at_the_end_are_no_records(run):
    path = run / "journal-000002.log"
    path.write_bytes(path.read_bytes() + bytes(100))
    contents = read_journal(path)
    assert (len(contents.payloads), contents.torn, contents.rescued) == (ROWS, 100, [])


def test_the_same_row_twice_in_a_journal_is_read_once(run):
    path = run / "journal-000002.log"
    again = read_journal(path).payloads[0]
    path.write_bytes(path.read_bytes() + frame(again))
    before = read_run(run)
    assert len(before.instances) == 2
    with Store.open(run) as store:
        assert len(list(store.rows())) == 5 + ROWS
    after = read_run(run)
    assert after == before


def test_a_tail_left_by_an_interrupted_write_is_written_over(run):
    path = run / "journal-000002.log"
    journal = Journal(path)
    whole = path.read_bytes()
    path.write_bytes(whole + frame(b"x" * 500)[:-1])
    journal.append(b'{"short":1}')
    journal.sync()
    journal.close()
    assert path.read_bytes() == whole + frame(b'{"short":1}')


def test_rows_are_acknowledged_every_32_rows(tmp_path, make_row, monkeypatch):
    store = Store.open(tmp_path / "run")
    synced = []
    sync = Journal.sync
    monkeypatch.setattr(Journal, "sync", lambda self: (sync(self), synced.append(len(self.payloads)))[0])
    for number in range(100):
        store.append(f"k{number}", make_row(number))
    assert synced == [32, 64, 96]
    store.flush()
    assert synced == [32, 64, 96, 100]
    store.flush()
    assert synced == [32, 64, 96, 100], "nothing new, nothing to do"
    store.close()


def test_rows_are_acknowledged_in_time_when_nothing_else_is_appended(tmp_path, make_row, monkeypatch):
    monkeypatch.setattr("verax.store.store._TICK", 0.02)
    monkeypatch.setattr("verax.store.store.SYNC_SECONDS", 0.2)
    import threading

    synced = threading.Event()
    sync = Journal.sync
    monkeypatch.setattr(Journal, "sync", lambda self: (sync(self), synced.set())[0])
    with Store.open(tmp_path / "run") as store:
        store.append("k", make_row(0))
        assert not synced.is_set()
        assert synced.wait(10)
