"""Reads premise and hypothesis from an explanation of an inference, by templates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verax.metrics.free_text.linguistics import PIPELINE, linguistics
from verax.metrics.free_text.nli_statements import Statements
from verax.metrics.free_text.nli_templates import NLI_TEMPLATES, VERSION
from verax.metrics.free_text.templates import NormalisedSentence
from verax.types import Undefined

_APOSTROPHES = re.compile("[\u2018\u2019\u00b4]")
_DROPPED = re.compile(r"``|''|[\"\u201c\u201d\u00ab\u00bb`()\[\]{}*]")
_COMMA = re.compile(r" ?,(?= |$)")
# Not after a title or an initial; a full stop between letters (3 p.m) does not end a sentence.
_END = re.compile(r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\b[A-Za-z])[.!?]+(?: |$)|;")
_CONTRACTIONS = (
    (re.compile(r"\b(ca|can)\s?n?'t\b|\bcannot\b|\bcant\b", re.I), "can not"),
    (re.compile(r"\b(wo)\s?n't\b", re.I), "will not"),
    (re.compile(r"\b(\w+?)\s?n't\b", re.I), r"\1 not"),
    (re.compile(r"\b(do|does|did|is|are|was|were|has|have|would|could|should)nt\b", re.I), r"\1 not"),
    (re.compile(r"\bcan not (also|possibly|physically|really|actually)\b", re.I), "can not"),
)
_BECAUSE = re.compile(r"^(because|since)\s+", re.I)
_TAIL = re.compile(r"[ ,]+(?:but )?not (?:at |in |on )?both(?: simultaneously| at the same time| at once)?$", re.I)


@dataclass(frozen=True, slots=True)
class NliReading:
    """An explanation read as an inference of its own.

    Args:
        premise, hypothesis: statements with a subject and a verb each, without a full stop.
        template: the phrase that matched.
    """

    premise: str
    hypothesis: str
    template: str
    label: str


def templates_provenance(pipeline: str = PIPELINE) -> dict[str, str]:
    """The templates and the spaCy pipeline that determine a reading."""
    return {"templates": f"nli {VERSION}", "pipeline": linguistics(pipeline).name}


def read_nli(explanation: str, parts: Sequence[str] = (), pipeline: str = PIPELINE) -> NliReading:
    """Premise and hypothesis by the first template whose halves are statements (Atanasova et al. 2023, Section 2.2).

    Args:
        parts: premise and hypothesis of the input. The half that has more words of the premise becomes the premise, and
            a half that names no subject (`running does not mean ...`) may take that of the premise.

    Raises Undefined if no template matches (`no_template`), or a half is no statement (`no_subject`, `no_verb`,
    `no_statement`).
    """
    sentences = tuple(normalised_sentences(explanation))
    if not sentences:
        raise Undefined("empty", "the explanation has no word")
    statements, first = Statements(tuple(parts), pipeline), None
    for template in NLI_TEMPLATES:
        for sentence in sentences:
            filled = template.match(sentence)
            if filled is None:
                continue
            try:
                premise, hypothesis = statements.of(template, filled)
            except Undefined as problem:
                first = first or problem
                continue
            return NliReading(premise, hypothesis, template.phrase, template.label)
    raise first or Undefined("no_template", f"{explanation[:80]!r}")


def normalised_sentences(explanation: str) -> Iterator[NormalisedSentence]:
    """Sentences of an explanation, without quotation marks and brackets, with contractions written in full.

    A sentence that begins with `because` or `since` comes without it, and then as it is, for templates that begin so.
    """
    text = _DROPPED.sub(" ", _APOSTROPHES.sub("'", explanation))
    text = _COMMA.sub(" ,", " ".join(text.split()))
    for contraction, full in _CONTRACTIONS:
        text = contraction.sub(full, text)
    for part in _END.split(text):
        words = _TAIL.sub("", " ".join(part.split()).strip(" ,:-'."))
        if not words:
            continue
        bare = _BECAUSE.sub("", words, count=1)
        if bare != words:
            yield NormalisedSentence.of(bare)
        yield NormalisedSentence.of(words)
