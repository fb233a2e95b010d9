"""The compact set of keys behaves as a set of strings does."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from verax.store.codec import escape
from verax.store.keyset import KeySet, fingerprints, first_match, is_first, line_fingerprints

HASHES = [hashlib.sha256(bytes([number])).hexdigest() for number in range(6)]
# in one bucket: a key that begins inside two others, keys that differ in their last bit alone, and keys of zeros
SHIFTED = "ab" * 16 + "cd" * 16, "cd" * 16 + "ab" * 16
ALIKE = ["00" * 32, "00" * 31 + "01", "0000" + "ff" * 30, *SHIFTED]
OTHERS = ["", "k", HASHES[0].upper(), HASHES[0][:-2] + "  ", "  " * 32, HASHES[0] + "00", "z" * 64, "\ud800", "é" * 64]
keys = st.sampled_from([*HASHES, *ALIKE, *OTHERS])


@given(st.lists(st.tuples(st.sampled_from(["add", "discard", "update"]), keys), max_size=40))
def test_it_is_a_set(steps):
    compact, plain = KeySet(), set()
    for act, key in steps:
        if act == "update":
            compact.update(pa.chunked_array([[escape(key)], [escape(key), HASHES[0]]]))
            plain |= {key, HASHES[0]}
        else:
            getattr(compact, act)(key)
            getattr(plain, act)(key)
        assert (key in compact) == (key in plain)
    assert compact == plain
    assert plain == compact
    assert len(compact) == len(plain)
    assert sorted(compact) == sorted(plain)
    assert compact - {HASHES[0]} == plain - {HASHES[0]}
    assert {*plain, "more"} - compact == {"more"} - plain
    assert compact <= {*plain, "more"}
    assert [key for key in [*HASHES, *ALIKE, *OTHERS] if key in compact] == [
        key for key in [*HASHES, *ALIKE, *OTHERS] if key in plain
    ]
    assert 3 not in compact


def test_a_key_across_two_neighbours_is_not_found():
    compact = KeySet()
    same = "0000" + "11" * 14  # the beginning of a key and its middle, so that all are in one bucket
    for key in (same + same, same + "22" * 16):
        compact.add(key)
    assert same + same in compact
    compact.discard(same + same)
    compact.add("0000" + "33" * 14 + same)
    compact.add("0000" + "44" * 30)
    straddling = same + ("0000" + "44" * 14)
    assert straddling not in compact
    compact.discard(straddling)
    assert len(compact) == 3


stored = st.sampled_from([*HASHES, *SHIFTED, *(key for key in OTHERS if key == escape(key) and key.split() == [key])])


@given(st.lists(stored, max_size=8), st.booleans())
def test_fingerprints_of_a_column_and_of_a_file_agree(tmp_path_factory, names, newline):
    path = tmp_path_factory.mktemp("plan") / "plan.txt"
    path.write_text("\n".join(names) + "\n" * newline)
    column = pa.array(names, pa.string())
    assert line_fingerprints(path.read_bytes()).tolist() == fingerprints(column).tolist()
    assert fingerprints(column.slice(1)).tolist() == fingerprints(column).tolist()[1:]
    assert len({bytes(row) for row in fingerprints(column)}) == len(set(names))


halves = st.integers(0, 2)
pairs = st.lists(st.tuples(halves, halves), max_size=12)


@given(pairs, pairs)
def test_the_first_match_is_the_one_that_a_loop_finds(wanted, keys):
    """Many first halves are equal here, which those of hashes are not."""

    def array(values):
        return np.array(values, np.uint64).reshape(-1, 2)

    expected = [keys.index(pair) if pair in keys else -1 for pair in wanted]
    assert first_match(array(wanted), array(keys)).tolist() == expected
    assert is_first(array(keys)).tolist() == [keys.index(pair) == number for number, pair in enumerate(keys)]
