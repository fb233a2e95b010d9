"""Which segmenter splits which language that is written without spaces, and what was used is written down."""

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
"""Characters that jieba is given at a time: its time grows with the square of those it has no word for."""
EXTRA = "pip install 'verax[segment]'"


@dataclass(frozen=True, slots=True)
class Splitter:
    """Splits the texts of a dataset into words, and keeps how those without spaces were split.

    Args:
        segment: `auto` takes the segmenter of a language if it is installed and clusters of characters if not;
            `clusters` takes no segmenter; with `required` a language without one is an error.
        used: filled with the segmenter, None for clusters, of each language in which a script without spaces was met.
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
    def told(self) -> dict[str, str]:
        """What a dataset says of its words; nothing where spaces are enough."""
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
                f"segment: there is no segmenter for {lang!r}, only for {', '.join(sorted(SEGMENTERS))}; "
                "give lists of words, or segment: clusters"
            )
        return segmenter


@lru_cache(maxsize=1)
def jieba() -> Segmenter:
    """Chinese by jieba's dictionary and its hidden Markov model for words that are not in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is compiled at the first import, and its patterns are not raw strings
        tokenizer: Any = import_module("jieba").Tokenizer()
        # Its own way to start prints to stderr and trusts a file in the common temporary folder that anybody can write.
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        tokenizer.initialized = True

    def cut(run: str) -> Iterator[str]:
        for start in range(0, len(run), LONGEST_RUN):
            yield from tokenizer.cut(run[start : start + LONGEST_RUN])

    return Segmenter(f"jieba {version('jieba')}", _script("Hani"), cut)


@lru_cache(maxsize=1)
def newmm() -> Segmenter:
    """Thai by PyThaiNLP's dictionary: the fewest words, cut between character clusters only."""
    segment: Any = import_module("pythainlp.tokenize.newmm").segment
    # In safe mode it looks at a window of a long text at a time, so that no text takes more than linear time.
    return Segmenter(
        f"pythainlp {version('pythainlp')} newmm", _script("Thai"), lambda run: segment(run, safe_mode=True)
    )


SEGMENTERS: dict[str, Callable[[], Segmenter]] = {"cmn": jieba, "th": newmm, "tha": newmm, "zh": jieba, "zho": jieba}


def _base(lang: str) -> str:
    """The language of a code that may name a script or region too: zh-Hant, zh_TW."""
    return re.split(r"[-_]", lang.lower(), maxsplit=1)[0]


def _script(name: str) -> regex.Pattern[str]:
    return regex.compile(rf"[\p{{scx={name}}}--\p{{P}}--\p{{S}}--\p{{Nd}}]", regex.VERSION1)
