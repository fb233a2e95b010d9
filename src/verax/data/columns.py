"""The meaning of the columns of a table: the `data.columns` mapping of a spec, and its defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from verax.registry import unknown
from verax.types import Performance, UserError

KNOWN_PARTS: tuple[tuple[str, ...], ...] = (
    ("premise", "hypothesis"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("question", "passage"),
    ("question", "context"),
    ("claim", "evidence"),
    ("text_a", "text_b"),
    ("text",),
    ("sentence",),
    ("review",),
    ("tokens",),
)
KNOWN_LABELS = ("label", "gold_label")
KNOWN_EXPLANATIONS = ("explanations", "explanation")
KNOWN_PARALLEL_ID = "parallel_id"
KNOWN_LANGS = ("lang", "language")
KNOWN_ID = "id"

# A single name may be written without brackets.
_listed = BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
Names = Annotated[tuple[str, ...], _listed]
GoldNames = Annotated[tuple[str | None, ...], _listed]
GOLD = ("gold_words", "gold_mask", "gold_spans", "gold_chars")


class Columns(BaseModel):
    """Column names of a user table; most are guessed when omitted."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    parts: Names = ()
    """Columns with the parts of an input, in order: [text], or [premise, hypothesis]. Default: the first known
    combination among the columns: premise and hypothesis, sentence1 and sentence2, text, ..."""
    label: str | None = None
    """Column with the gold class: its name or index; null, empty or -1 means no label. Default: `label` or
    `gold_label`, if present."""
    id: str | None = None
    """Column with a unique id for each row. Default: `id`, if present, or else the number of the row, from 1; an empty
    name always gives the number."""
    lang: str | None = None
    """Column with the language code of each row."""
    parallel_id: str | None = None
    """Column whose value is shared by the translations of a row. Default: `parallel_id`, if present; then `lang` or
    `language` is used too."""
    alignment: Names = ()
    """Columns with word alignments, one per part: `0-0 1-2 2p3`, a word of the row's translation into `aligned_to`, a
    hyphen (p: possible, not sure) and a word of the row."""
    aligned_to: str = "en"
    """Language (not a column) that the words of other rows are aligned to."""
    words: Names = ()
    """Columns of `parts` whose text is split at white space only. Columns that hold lists of words need not be listed;
    they are used unchanged."""
    gold_words: GoldNames = ()
    """Columns with human-highlighted words, as word indices from 0: one column per part (null for a part without
    highlights), or one column with a list for each part."""
    gold_mask: GoldNames = ()
    """Like gold_words, but a list of 0 and 1 with one entry per word."""
    gold_spans: GoldNames = ()
    """Like gold_words, but pairs [start, end] of word indices, end exclusive."""
    gold_chars: GoldNames = ()
    """Like gold_words, but pairs [start, end] of character offsets, end exclusive; each word that a pair overlaps is
    highlighted."""
    span_pairs: str | None = None
    """Column with a list of pairs of related spans; a span is [part, start, end], parts and words counted from 0, end
    exclusive."""
    explanations: Names = ()
    """Columns with free-text explanations: a text or a list of texts each. Default: `explanations` or `explanation`, if
    present."""
    maskable_part: Names = ()
    """Columns of `parts` whose words may be masked when faithfulness is measured by masking (the paragraph, not the
    question). Default: all."""
    metric: Performance = "accuracy"
    """Performance measure for this data: accuracy, macro_f1, micro_f1 or matthews."""

    @model_validator(mode="after")
    def _fit_together(self) -> Columns:
        gold = {name: value for name in GOLD if (value := getattr(self, name))}
        if len(gold) > 1:
            raise ValueError(f"{' and '.join(gold)} exclude each other; give only one")
        if self.alignment and self.parts and len(self.alignment) != len(self.parts):
            raise ValueError(f"alignment has {len(self.alignment)} columns for {len(self.parts)} parts")
        for name, value in gold.items():
            if not any(value):
                raise ValueError(f"{name} names no column")
            if self.parts and len(value) not in (1, len(self.parts)):
                raise ValueError(f"{name} has {len(value)} columns for {len(self.parts)} parts")
        for field in ("words", "maskable_part"):
            if self.parts and (stray := [name for name in getattr(self, field) if name not in self.parts]):
                raise ValueError(f"{field}: {stray[0]!r} is not one of parts {list(self.parts)}")
        return self

    @property
    def maskable(self) -> tuple[int, ...] | None:
        """Indices of the parts that may be masked; None: all."""
        numbers = tuple(number for number, name in enumerate(self.parts) if name in self.maskable_part)
        return numbers if self.maskable_part else None

    def optional(self) -> tuple[str, ...]:
        """Columns that single rows may omit, but not the whole table."""
        single = (self.label, self.lang, self.parallel_id, self.span_pairs)
        gold = (name for field in GOLD for name in getattr(self, field))
        return tuple(name for name in (*single, *gold, *self.explanations, *self.alignment) if name is not None)


def parse_columns(value: Columns | Mapping[str, Any] | None) -> Columns:
    """Validate columns; an invalid field raises a UserError that names it."""
    if isinstance(value, Columns):
        return value
    try:
        return Columns.model_validate(dict(value or {}))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(step) for step in first["loc"])
        if first["type"] == "extra_forbidden":
            raise UserError(f"columns: {unknown('field', field, Columns.model_fields)}") from None
        if first["type"] == "literal_error":
            raise UserError(f"columns.{field}: {unknown(field, str(first['input']), get_args(Performance))}") from None
        message = first["msg"].removeprefix("Value error, ")
        raise UserError(
            f"columns.{field}: {message}, got {first['input']!r}" if field else f"columns: {message}"
        ) from None


def with_defaults(columns: Columns, available: Collection[str], where: str) -> Columns:
    """Complete omitted columns with guesses from the available column names.

    Guessed are `parts`, `label`, `id`, `explanations` and gold words (by the names of their fields); and `lang` if a
    column `parallel_id` marks the rows as translations of each other.
    """
    by_lower = {name.lower(): name for name in reversed(list(available))}
    guessed: dict[str, Any] = {}
    if not columns.parts:
        known = next((names for names in KNOWN_PARTS if all(name in by_lower for name in names)), None)
        if known is None:
            raise UserError(
                f"{where}: cannot tell which columns hold the text; available: {', '.join(map(repr, available))}; "
                "set columns: {parts: [...]}"
            )
        guessed["parts"] = tuple(by_lower[name] for name in known)
    if columns.label is None:
        guessed["label"] = next((by_lower[name] for name in KNOWN_LABELS if name in by_lower), None)
    if columns.id is None:
        guessed["id"] = by_lower.get(KNOWN_ID)
    if not any(getattr(columns, field) for field in GOLD):
        guessed |= {field: (by_lower[field],) for field in [name for name in GOLD if name in by_lower][:1]}
    if not columns.explanations:
        guessed["explanations"] = tuple(by_lower[name] for name in KNOWN_EXPLANATIONS if name in by_lower)[:1]
    if columns.parallel_id is None and KNOWN_PARALLEL_ID in by_lower:
        guessed["parallel_id"] = by_lower[KNOWN_PARALLEL_ID]
        guessed["lang"] = columns.lang or next((by_lower[name] for name in KNOWN_LANGS if name in by_lower), None)
    # Validated again, since consistency can only be checked once the parts are known.
    return parse_columns(columns.model_dump() | guessed)
