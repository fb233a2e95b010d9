"""Reads premise and hypothesis from an explanation of an inference, by templates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from verax.metrics.free_text.linguistics import PIPELINE, SUBJECTS, lacks, linguistics
from verax.metrics.free_text.nli_templates import NLI_TEMPLATES, VERSION
from verax.metrics.free_text.templates import AGREEING, Filled, Sentence, Template
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
_PLURAL_PRONOUNS = frozenset({"they", "we", "you", "these", "those"})
_HISS = ("s", "sh", "ch", "x", "z", "o")
_IRREGULAR = {"be": "is", "have": "has"}


@dataclass(frozen=True, slots=True)
class NliReading:
    """An explanation read as an inference of its own.

    Args:
        premise, hypothesis: statements with a subject and a verb each, without a full stop.
        template: the phrase that matched.
        label: the class that the phrase supports.
    """

    premise: str
    hypothesis: str
    template: str
    label: str


@dataclass(frozen=True)
class NliReader:
    """Splits explanations by the first template that matches (Atanasova et al. 2023, Section 2.2).

    Args:
        pipeline: name of the spaCy pipeline that finds subject and verb.
    """

    pipeline: str = PIPELINE

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines a reading besides the parameters."""
        return {"templates": f"nli {VERSION}", "pipeline": linguistics(self.pipeline).name}

    def read(self, explanation: str) -> NliReading:
        """Premise and hypothesis; raises Undefined if no template matches (`no_template`) or a half is no statement."""
        template, filled = find(explanation)
        premise, hypothesis = (self._stated(half, filled) for half in (template.premise, template.hypothesis))
        self._check(f"premise {premise!r}, by the template {template.phrase!r}", premise)
        self._check(f"hypothesis {hypothesis!r}, by the template {template.phrase!r}", hypothesis)
        return NliReading(premise, hypothesis, template.phrase, template.label)

    def _check(self, detail: str, half: str) -> None:
        missing = lacks(linguistics(self.pipeline).read(half))
        if missing == "subject":
            raise Undefined("no_subject", detail)
        if missing == "verb":
            raise Undefined("no_verb", detail)

    def _stated(self, pattern: str, filled: Filled) -> str:
        """One half: the fillers of its gaps, with an agreeing verb if one has to be inserted."""
        words = pattern.split()
        if not set(AGREEING) & set(words):
            return " ".join(filled[word] for word in words)
        subject, verb, predicate = filled[words[0]], words[1], filled[words[2]]
        plural = self._plural(subject)
        if verb == "be":
            return f"{subject} {_be(subject, plural)} {predicate}"
        first, space, rest = predicate.partition(" ")
        return f"{subject} {first if plural else _third_person(first)}{space}{rest}"

    def _plural(self, subject: str) -> bool:
        if subject.lower() in _PLURAL_PRONOUNS | {"i"}:
            return True
        # A predicate that fits every subject lets the pipeline identify the subject.
        tokens = linguistics(self.pipeline).read(f"{subject} can not be here")
        heads = [token for token in tokens if token.dep in SUBJECTS]
        joined = any(token.dep == "conj" for token in tokens) and " and " in f" {subject.lower()} "
        return joined or bool(heads and (heads[0].plural or heads[0].text.lower() in _PLURAL_PRONOUNS))


def find(explanation: str) -> tuple[Template, Filled]:
    """The first template that matches a sentence of the explanation, and the fillers of its gaps."""
    sentences = tuple(normalised(explanation))
    if not sentences:
        raise Undefined("empty", "the explanation has no word")
    for template in NLI_TEMPLATES:
        for sentence in sentences:
            filled = template.match(sentence)
            if filled is not None:
                return template, filled
    raise Undefined("no_template", f"{explanation[:80]!r}")


def normalised(explanation: str) -> Iterator[Sentence]:
    """Sentences of an explanation, without quotation marks and brackets, with contractions written in full.

    A sentence that begins with `because` or `since` comes without it, and then as it is, for templates that begin so.
    """
    text = _DROPPED.sub(" ", _APOSTROPHES.sub("'", explanation))
    text = _COMMA.sub(" ,", " ".join(text.split()))
    for contraction, full in _CONTRACTIONS:
        text = contraction.sub(full, text)
    for part in _END.split(text):
        words = " ".join(part.split()).strip(" ,:-'.")
        if not words:
            continue
        bare = _BECAUSE.sub("", words, count=1)
        if bare != words:
            yield Sentence.of(bare)
        yield Sentence.of(words)


def _be(subject: str, plural: bool) -> str:
    return "am" if subject.lower() == "i" else "are" if plural else "is"


def _third_person(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("y") and verb[-2:-1] not in set("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(_HISS) else f"{verb}s"
