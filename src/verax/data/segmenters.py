"""Word segmenters for languages written without spaces."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal

import regex

from verax.data.text import Segmenter, lacks_spaces, split_words
from verax.types import Text, UserError

Segment = Literal["auto", "clusters", "required"]
LONGEST_RUN = 1000
"""Maximum number of characters per call of jieba, whose time is quadratic in the unknown ones."""
EXTRA = "pip install 'verax[segment]'"


@dataclass(frozen=True, slots=True)
class Splitter:
    """Splits the texts of a dataset into words, and records the segmenters used.

    Args:
        segment: `auto` uses the segmenter of a language if it is installed and character clusters otherwise;
            `clusters` uses no segmenter; `required` raises an error for a language without one.
        used: the segmenters used so far by language of texts in a script without spaces; None for clusters.
    """

    segment: Segment = "auto"
    used: dict[str, Segmenter | None] = field(default_factory=dict)

    def __call__(self, raw: str, lang: str) -> Text:
        """The words of a text."""
        if not lacks_spaces(raw):
            return split_words(raw, lang)
        if lang not in self.used:
            self.used[lang] = self._segmenter(lang)
        return split_words(raw, lang, self.used[lang])

    @property
    def provenance(self) -> dict[str, str]:
        """Provenance entry `words` of a dataset; empty if no segmentation was needed."""
        names = {lang: "clusters" if used is None else used.name for lang, used in self.used.items()}
        return {"words": "; ".join(f"{lang}: {names[lang]}" for lang in sorted(names))} if names else {}

    def _segmenter(self, lang: str) -> Segmenter | None:
        known = None if self.segment == "clusters" else SEGMENTERS.get(_base(lang))
        try:
            segmenter = None if known is None else known()
        except ImportError as error:
            if self.segment == "required":
                raise UserError(f"segment: {lang} needs {error.name}, which is not installed: {EXTRA}") from None
            return None
        if segmenter is None and self.segment == "required":
            raise UserError(
                f"segment: no segmenter for {lang!r}; available: {', '.join(sorted(SEGMENTERS))}; "
                "give lists of words, or use segment: clusters"
            )
        return segmenter


@lru_cache(maxsize=1)
def jieba() -> Segmenter:
    """Chinese segmentation with jieba: dictionary, and a hidden Markov model for unknown words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its patterns are not raw strings, which warns when first compiled
        tokenizer: Any = import_module("jieba").Tokenizer()
        # Its own initialization prints to stderr and trusts a cache in the shared, world-writable temporary folder.
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        tokenizer.initialized = True

    def cut(run: str) -> Iterator[str]:
        for start in range(0, len(run), LONGEST_RUN):
            yield from tokenizer.cut(run[start : start + LONGEST_RUN])

    return Segmenter(f"jieba {version('jieba')}", _script("Hani"), cut)


@lru_cache(maxsize=1)
def newmm() -> Segmenter:
    """Thai segmentation with PyThaiNLP's newmm: fewest dictionary words, cut between character clusters only."""
    segment: Any = import_module("pythainlp.tokenize.newmm").segment
    # Safe mode processes long texts in windows, which keeps the time linear.
    return Segmenter(
        f"pythainlp {version('pythainlp')} newmm", _script("Thai"), lambda run: segment(run, safe_mode=True)
    )


SEGMENTERS: dict[str, Callable[[], Segmenter]] = {"cmn": jieba, "th": newmm, "tha": newmm, "zh": jieba, "zho": jieba}


def _base(lang: str) -> str:
    """The language of a code that may include a script or region: zh-Hant, zh_TW."""
    return re.split(r"[-_]", lang.lower(), maxsplit=1)[0]


def _script(name: str) -> regex.Pattern[str]:
    return regex.compile(rf"[\p{{scx={name}}}--\p{{P}}--\p{{S}}--\p{{Nd}}]", regex.VERSION1)
