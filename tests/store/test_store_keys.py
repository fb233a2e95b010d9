import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.store.keys import hash_bytes, hash_files, key_of
from verax.types import UserError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_key_is_the_hash_of_sorted_json():
    expected = hashlib.sha256('{"a":[1,2.5,null],"b":{"c":"é","d":true}}'.encode()).hexdigest()
    assert key_of(b={"d": True, "c": "é"}, a=(1, 2.5, None)) == expected


@given(st.dictionaries(st.text(), JSON, min_size=2, max_size=5), st.randoms())
def test_order_does_not_matter(parts, random):
    shuffled = list(parts.items())
    random.shuffle(shuffled)
    assert key_of(parts=dict(shuffled)) == key_of(parts=parts)
    assert key_of(**{f"p{name}": value for name, value in shuffled}) == key_of(
        **{f"p{name}": value for name, value in parts.items()}
    )


@given(JSON, JSON)
def test_different_values_have_different_keys(a, b):
    assert (key_of(x=a) == key_of(x=b)) == (repr_sorted(a) == repr_sorted(b))


def repr_sorted(value):
    if isinstance(value, dict):
        return "dict" + repr(sorted((name, repr_sorted(item)) for name, item in value.items()))
    if isinstance(value, list):
        return repr([repr_sorted(item) for item in value])
    return repr(value)


def test_look_alikes_are_told_apart():
    values = [1, 1.0, True, "1", "1.0", None, "null", [1], {"1": 1}, 0.0, -0.0, "\ud83d\ude00", "😀", ""]
    assert len({key_of(x=value) for value in values}) == len(values)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), [1.0, float("-inf")]])
def test_numbers_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match="JSON compliant"):
        key_of(x=bad)


@pytest.mark.parametrize("bad", [{1: "a"}, b"raw", {"a": {None: 1}}, object()])
def test_what_json_would_change_is_refused(bad):
    with pytest.raises(TypeError):
        key_of(x=bad)


def test_hash_of_files(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for folder in ("one", "two"):
        (tmp_path / folder / "w.bin").write_bytes(b"\0" * 3_000_000)
        (tmp_path / folder / "v.txt").write_bytes(b"words")
    one = [tmp_path / "one" / "w.bin", tmp_path / "one" / "v.txt"]
    two = [tmp_path / "two" / "v.txt", tmp_path / "two" / "w.bin"]
    assert hash_files(one) == hash_files(two)
    (tmp_path / "two" / "w.bin").write_bytes(b"\0" * 2_999_999 + b"\1")
    assert hash_files(one) != hash_files(two)
    (tmp_path / "two" / "w.bin").write_bytes(b"words")
    (tmp_path / "two" / "v.txt").write_bytes(b"\0" * 3_000_000)
    assert hash_files(one) != hash_files(two), "contents that changed names are other contents"


def test_hash_of_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"cannot read .*gone\.bin: No such file"):
        hash_files([tmp_path / "gone.bin"])


def test_hash_of_bytes():
    assert hash_bytes(b"ab", b"c") == hashlib.sha256(b"abc").hexdigest()
