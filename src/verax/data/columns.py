"""Which column of somebody's table means what: the mapping that a spec's `data.columns` holds, and its defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

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
    """Names of the columns of a table of one's own; `parts` and `label` are guessed when they are left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parts: Names = Field(
        default=(),
        description="Columns with the parts of an input, in order: [text], or [premise, hypothesis]. Left out, the "
        "first known combination that is there is taken: premise and hypothesis, sentence1 and sentence2, text, ...",
    )
    label: str | None = Field(
        default=None,
        description="Column with the gold class: its name or its number; null, empty or -1 is no label. Left out, "
        "`label` or `gold_label` is taken where there is one.",
    )
    id: str | None = Field(
        default=None,
        description="Column with a name for each row, each one used once. Left out: the number of the row, from 1.",
    )
    lang: str | None = Field(default=None, description="Column with the language code of each row.")
    parallel_id: str | None = Field(
        default=None,
        description="Column whose value is shared by translations of a row. Left out: `parallel_id`, where there is "
        "one; then `lang` or `language` and `id` are taken too.",
    )
    alignment: Names = Field(
        default=(),
        description="Columns with word alignments, one for each part: `0-0 1-2 2p3`, a word of the row's translation "
        "into `aligned_to`, a hyphen (p: possible, not sure) and a word of the row.",
    )
    aligned_to: str = Field(
        default="en", description="No column: the language that the words of other rows are aligned to."
    )
    words: Names = Field(
        default=(),
        description="Those columns of `parts` whose text is split at white space and nowhere else. A column that "
        "holds lists of words needs no mention: they are taken as they are.",
    )
    gold_words: GoldNames = Field(
        default=(),
        description="Columns with the words that people marked, as word numbers from 0: a column for each part (null "
        "for a part in which nothing is marked), or one column that holds a list for each part.",
    )
    gold_mask: GoldNames = Field(
        default=(), description="The same as gold_words, but as a list of 0 and 1 with an entry for each word."
    )
    gold_spans: GoldNames = Field(
        default=(),
        description="The same as gold_words, but as pairs [start, end] of word numbers, end exclusive.",
    )
    gold_chars: GoldNames = Field(
        default=(),
        description="The same as gold_words, but as pairs [start, end] of character offsets, end exclusive; each word "
        "that a pair overlaps is marked.",
    )
    span_pairs: str | None = Field(
        default=None,
        description="Column with a list of pairs of spans that belong together; a span is [part, start, end], parts "
        "and words counted from 0, end exclusive.",
    )
    explanations: Names = Field(
        default=(),
        description="Columns with sentences that say why: a text or a list of texts each. Left out: `explanations` or "
        "`explanation`, where there is one.",
    )
    maskable_part: Names = Field(
        default=(),
        description="Those columns of `parts` whose words may be masked when faithfulness is measured by masking (the "
        "paragraph, not the question). Left out: all.",
    )
    metric: Performance = Field(
        default="accuracy",
        description="How performance is measured on this data: accuracy, macro_f1, micro_f1 or matthews.",
    )

    @model_validator(mode="after")
    def _fit_together(self) -> Columns:
        gold = {name: value for name in GOLD if (value := getattr(self, name))}
        if len(gold) > 1:
            raise ValueError(f"give one of {' and '.join(gold)}, not both")
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
        """Numbers of the parts that may be masked; None: all."""
        numbers = tuple(number for number, name in enumerate(self.parts) if name in self.maskable_part)
        return numbers if self.maskable_part else None

    def optional(self) -> tuple[str, ...]:
        """The columns that a row may leave out, though the table may not."""
        single = (self.label, self.lang, self.parallel_id, self.span_pairs)
        gold = (name for field in GOLD for name in getattr(self, field))
        return tuple(name for name in (*single, *gold, *self.explanations, *self.alignment) if name is not None)


def parse_columns(value: Columns | Mapping[str, Any] | None) -> Columns:
    """Columns as a model, whatever they were given as; a mistake in them is a UserError that names the field."""
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


def with_defaults(columns: Columns, there: Collection[str], where: str) -> Columns:
    """The same columns with those guessed that were left out, from the columns that are there.

    These are `parts`, `label` and `explanations`; and `lang` and `id`, but only where a column `parallel_id` says that
    the rows are translations of each other.
    """
    by_lower = {name.lower(): name for name in reversed(list(there))}
    found: dict[str, Any] = {}
    if not columns.parts:
        known = next((names for names in KNOWN_PARTS if all(name in by_lower for name in names)), None)
        if known is None:
            raise UserError(
                f"{where}: can't tell which columns hold the text; there are {', '.join(map(repr, there))}; "
                "say it with columns: {parts: [...]}"
            )
        found["parts"] = tuple(by_lower[name] for name in known)
    if columns.label is None:
        found["label"] = next((by_lower[name] for name in KNOWN_LABELS if name in by_lower), None)
    if not columns.explanations:
        found["explanations"] = tuple(by_lower[name] for name in KNOWN_EXPLANATIONS if name in by_lower)[:1]
    if columns.parallel_id is None and KNOWN_PARALLEL_ID in by_lower:
        found["parallel_id"] = by_lower[KNOWN_PARALLEL_ID]
        found["lang"] = columns.lang or next((by_lower[name] for name in KNOWN_LANGS if name in by_lower), None)
        found["id"] = columns.id or by_lower.get(KNOWN_ID)
    # Validated anew, since what must fit together can only be checked once the parts are known.
    return parse_columns(columns.model_dump() | found)
