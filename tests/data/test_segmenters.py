"""Languages without spaces: the segmenter's words have exact places, and what was used is written down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from support.published import write_jsonl
from verax.data import segmenters
from verax.data.load import load_dataset
from verax.data.segmenters import Segment, Splitter
from verax.data.text import Segmenter, split_words
from verax.types import UserError

HAN = regex.compile(r"\p{Han}")
CHINESE = "我们喜欢在北京大学学习，但是NLP 3.14版本还没有发布。"
THAI = "เด็กๆไม่ไปโรงเรียน 25% ในปี๒๕๖๗ NLP 2024ครับ"


def segmenter(cut: Callable[[str], Iterable[str]]) -> Segmenter:
    return Segmenter("mine 1", HAN, cut)


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

    monkeypatch.setattr(segmenters, "import_module", missing)
    for made in (segmenters.jieba, segmenters.newmm):
        made.cache_clear()


def test_chinese_is_split_by_jieba() -> None:
    pytest.importorskip("jieba")
    split = Splitter()
    words = ["我们", "喜欢", "在", "北京大学", "学习", "，", "但是", "NLP", "3.14", "版本", "还", "没有", "发布", "。"]
    assert list(split(CHINESE, "zh").words) == words
    assert list(split(CHINESE, "zh-Hans").words) == words
    assert split.provenance["words"].startswith("zh: jieba 0.")


def test_thai_is_split_by_pythainlp() -> None:
    pytest.importorskip("pythainlp")
    split = Splitter()
    words = ["เด็ก", "ๆ", "ไม่", "ไป", "โรงเรียน", "25", "%", "ใน", "ปี", "๒๕๖๗", "NLP", "2024", "ครับ"]
    assert list(split(THAI, "th").words) == words
    assert regex.fullmatch(r"th: pythainlp [\d.]+ newmm", split.provenance["words"])


@pytest.mark.parametrize("lang", ["zh", "th"])
def test_segmenters_print_nothing_and_leave_no_file(
    lang: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip({"zh": "jieba", "th": "pythainlp"}[lang])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("PYTHAINLP_DATA", str(tmp_path))
    segmenters.SEGMENTERS[lang].cache_clear()  # type: ignore[attr-defined]
    Splitter()(CHINESE + THAI, lang)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None, max_examples=60)
@given(st.text(st.sampled_from("我们在北京大学学习。，aZ1 \n\u200b葛\U000e0100々〇\u0301เด็กไม่ปีน้ำ๒ๆฯ"), max_size=40))
def test_segmented_words_have_exact_places_and_lose_nothing(raw: str) -> None:
    for lang in ("zh", "th"):
        text = Splitter()(raw, lang)
        assert text == Splitter()(raw, lang)
        clusters = split_words(raw, lang)
        # every word is one cluster or several that touch: nothing is lost, no cluster is torn apart
        starts = {start for start, _ in clusters.offsets}
        assert "".join(text.words) == "".join(clusters.words)
        assert {start for start, _ in text.offsets} <= starts
        assert all(raw[start:end] == word for word, (start, end) in zip(text.words, text.offsets, strict=True))


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (lambda run: [run[:2], run[2:]], ["中国", "人民", "a", "大学", "。", "中国", "人"]),
        (
            lambda run: [run[:1], " ", "", run[2:]],
            ["中", "国", "人民", "a", "大", "学", "。", "中", "国", "人"],
        ),  # drops
        (lambda run: ["？", run[2:]], ["中国", "人民", "a", "大学", "。", "中国", "人"]),  # changes
        (lambda run: [], ["中国人民", "a", "大学", "。", "中国人"]),
        (lambda run: run, list("中国人民a大学。中国人")),
    ],
)
def test_any_segmenter_is_mapped_to_the_text(cut: Callable[[str], Iterable[str]], words: list[str]) -> None:
    text = split_words("中国人民a大学。 中国人", "zh", segmenter(cut))
    assert list(text.words) == words


def test_a_cut_inside_a_cluster_is_left_out() -> None:
    text = split_words("葛\U000e0100城か\u3099", "zh", segmenter(lambda run: run))
    assert text.words == ("葛\U000e0100", "城", "か\u3099")


def test_runs_are_parted_by_spaces_and_signs() -> None:
    runs: list[str] = []

    def noted(run: str) -> list[str]:
        runs.append(run)
        return [run]

    split_words("中国 人民\u200b大学，你好1世界", "zh", segmenter(noted))
    assert runs == ["中国", "人民", "大学", "你好", "世界"]


@pytest.mark.usefixtures("not_installed")
def test_without_the_extra_characters_are_words_and_that_is_recorded() -> None:
    split = Splitter()
    assert split("我们。", "zh").words == ("我", "们", "。")
    assert split("น้ำ", "th").words == ("น้ำ",)
    assert split("a well-known word", "en").words == ("a", "well-known", "word")
    assert split.provenance == {"words": "th: clusters; zh: clusters"}


def test_what_needs_no_segmenter_is_not_spoken_of() -> None:
    split = Splitter("required")
    assert split("Guten Tag, 3.14。", "de").lang == "de"
    assert split("25 %", "zh").words == ("25", "%")
    assert split.provenance == {}


@pytest.mark.usefixtures("not_installed")
@pytest.mark.parametrize(("lang", "package"), [("zh_TW", "jieba"), ("th", "pythainlp")])
def test_a_segmenter_that_is_required_must_be_installed(lang: str, package: str) -> None:
    message = f"segment: {lang} needs {package}, which is not installed: pip install 'verax[segment]'"
    with pytest.raises(UserError) as refused:
        Splitter("required")("我น้ำ", lang)
    assert str(refused.value) == message


@pytest.mark.parametrize("lang", ["ja", "my", "km", "lo"])
def test_a_language_that_has_no_segmenter_falls_back_or_is_refused(lang: str) -> None:
    raw = {"ja": "本を読む", "my": "မြန်မာ", "km": "ខ្ញុំ", "lo": "ພາສາ"}[lang]
    split = Splitter()
    assert split(raw, lang) == split_words(raw, lang)
    assert split.provenance == {"words": f"{lang}: clusters"}
    with pytest.raises(
        UserError, match=f"no segmenter for '{lang}'; available: .*th.*; give lists of words, or use segment"
    ):
        Splitter("required")(raw, lang)


@pytest.mark.parametrize(("segment", "words"), [("clusters", ("我", "们", "。")), ("auto", ("我们", "。"))])
def test_a_dataset_says_how_its_words_were_found(segment: Segment, words: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("jieba")
    path = write_jsonl(tmp_path / "a.jsonl", {"text": "我们。", "l": "zh"}, {"text": "We.", "l": "en"})
    dataset = load_dataset(path, columns={"lang": "l"}, segment=segment)
    assert dataset.instances[0].parts[0].words == words
    assert dataset.provenance["words"].startswith("zh: clusters" if segment == "clusters" else "zh: jieba")
    assert "en" not in dataset.provenance["words"]


@pytest.mark.parametrize("raw", ["中", "中国人民大学", "葛\U000e0100"])
def test_a_long_run_of_chinese_takes_no_more_than_linear_time(raw: str) -> None:
    pytest.importorskip("jieba")
    long = raw * 30_000
    assert Splitter()(long, "zh").offsets[-1][1] == len(long)


def test_nothing_is_imported_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str) -> Any:
        raise AssertionError(name)

    monkeypatch.setattr(segmenters, "import_module", refused)
    Splitter()("Der Hund schläft.", "de")
    Splitter("clusters")(CHINESE, "zh")
    Splitter()("The word 中 in English.", "en")
