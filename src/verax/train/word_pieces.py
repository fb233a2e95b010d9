"""Word-piece tokenizers that are written down, not trained: which words stay whole and how the others are cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from string import ascii_letters, ascii_lowercase

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from verax.types import Dataset

LONGEST = 128
_SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_OF_TEXTS = {"pad": "<pad>", "unk": "<unk>", "bos": "<s>", "eos": "</s>", "mask": "<mask>"}
_SHORTEST_STEM, _LONGEST_ENDING = 3, 3


def build_tokenizer(dataset: Dataset, whole_words: int) -> PreTrainedTokenizerFast:
    """Word pieces for the texts of a dataset: its most frequent words stay whole, each other one falls into two halves.

    Single letters are in the vocabulary too, so that words from elsewhere can be read. It is not trained because that
    depends, among words of equal count, on the order in which a hash table happens to hold them.
    """
    normalizer = normalizers.BertNormalizer(lowercase=True)
    ranked = _ranked(normalizer, (part.raw for instance in dataset.instances for part in instance.parts))
    halves = [half for word in ranked[whole_words:] for half in _halves(word)]
    letters = [mark + letter for letter in ascii_lowercase for mark in ("", "##")]
    vocabulary = dict.fromkeys((*_SPECIAL.values(), *letters, *ranked[:whole_words], *halves))
    return _tokenizer(vocabulary, normalizer)


def widen_tokenizer(base: Sequence[str], dataset: Dataset, whole_words: int) -> PreTrainedTokenizerFast:
    """A vocabulary that goes on from another one and holds word pieces for every language of a dataset.

    Of each language the most frequent words stay whole; each other one is cut before its ending if another word has the
    same stem, and else into halves. Accents stay. Each Chinese character is a token.

    Args:
        base: the tokens of the other vocabulary, which keep their numbers.
        whole_words: how many of each language.
    """
    normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    texts: dict[str, list[str]] = {}
    for instance in dataset.instances:
        for part in instance.parts:
            texts.setdefault(part.lang, []).append(part.raw)
    pieces: list[str] = []
    for lang in sorted(texts):
        ranked = _ranked(normalizer, texts[lang])
        stems = _stems(ranked)
        pieces += ranked[:whole_words]
        pieces += [piece for word in ranked[whole_words:] for piece in _cut(word, stems)]
    letters = sorted({letter for piece in pieces for letter in piece if letter.lower() != letter.upper()})
    pieces += [mark + letter for letter in letters for mark in ("", "##")]
    return _tokenizer(dict.fromkeys((*base, *pieces)), normalizer)


def build_text_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """For a text generator: every word of the texts is a token, with its case, so that what is written can be read.

    Single letters are in the vocabulary too, as above. Each text is closed by an end mark.
    """
    normalizer = normalizers.BertNormalizer(lowercase=False)
    letters = [*ascii_letters, *(f"##{letter}" for letter in ascii_lowercase)]
    backend = _backend((*_OF_TEXTS.values(), *letters, *_ranked(normalizer, texts)), normalizer, _OF_TEXTS["unk"])
    end = _OF_TEXTS["eos"]
    backend.decoder = decoders.WordPiece(cleanup=True)
    backend.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", special_tokens=[(end, backend.token_to_id(end))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=LONGEST,
        model_input_names=["input_ids", "attention_mask"],
        **{f"{role}_token": token for role, token in _OF_TEXTS.items()},
    )


def _ranked(normalizer: normalizers.Normalizer, texts: Iterable[str]) -> list[str]:
    """The words of texts as the tokenizer sees them, the most frequent first."""
    splitter = pre_tokenizers.BertPreTokenizer()
    counts = Counter(word for text in texts for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    return sorted(counts, key=lambda word: (-counts[word], word))


def _halves(word: str) -> tuple[str, ...]:
    middle = (len(word) + 1) // 2
    return word[:middle], f"##{word[middle:]}"


def _stems(words: Iterable[str]) -> Counter[str]:
    """How many words each possible stem has."""
    return Counter(word[:-ending] for word in words for ending in range(1, _LONGEST_ENDING + 1))


def _cut(word: str, stems: Counter[str]) -> tuple[str, ...]:
    if len(word) == 1:
        return (word,)
    for ending in range(1, _LONGEST_ENDING + 1):
        stem = word[:-ending]
        if len(stem) >= _SHORTEST_STEM and stems[stem] > 1:
            return stem, f"##{word[-ending:]}"
    return _halves(word)


def _tokenizer(vocabulary: Iterable[str], normalizer: normalizers.Normalizer) -> PreTrainedTokenizerFast:
    backend = _backend(vocabulary, normalizer, _SPECIAL["unk"])
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, backend.token_to_id(token)) for token in (_SPECIAL["cls"], _SPECIAL["sep"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=LONGEST,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{role}_token": token for role, token in _SPECIAL.items()},
    )


def _backend(vocabulary: Iterable[str], normalizer: normalizers.Normalizer, unknown: str) -> Tokenizer:
    tokens = {token: number for number, token in enumerate(dict.fromkeys(vocabulary))}
    backend = Tokenizer(models.WordPiece(tokens, unk_token=unknown))
    backend.normalizer, backend.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    return backend
