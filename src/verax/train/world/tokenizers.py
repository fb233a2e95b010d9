"""Word-piece tokenizers with fixed rules: which words stay whole, and how the others are split.

They are not trained, because training breaks ties between equally frequent words by the order of a hash table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_letters, ascii_lowercase

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from verax.types import Dataset

MAX_TOKENS = 128
_BERT = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_BART = {"pad": "<pad>", "unk": "<unk>", "bos": "<s>", "eos": "</s>", "mask": "<mask>"}
_SHORTEST_STEM, _LONGEST_ENDING = 3, 3


def build_tokenizer(dataset: Dataset, whole_words: int) -> PreTrainedTokenizerFast:
    """Word pieces for a dataset: its most frequent words stay whole, the others are split into halves.

    Single letters are in the vocabulary too, so that unknown words can be read.
    """
    normalizer = normalizers.BertNormalizer(lowercase=True)
    ranked = _ranked(normalizer, (part.raw for instance in dataset.instances for part in instance.parts))
    halves = [half for word in ranked[whole_words:] for half in _halves(word)]
    letters = [mark + letter for letter in ascii_lowercase for mark in ("", "##")]
    return _bert_tokenizer((*_BERT.values(), *letters, *ranked[:whole_words], *halves), normalizer)


def widen_tokenizer(base: Sequence[str], dataset: Dataset, whole_words: int) -> PreTrainedTokenizerFast:
    """A vocabulary extended by word pieces for every language of a dataset.

    The most frequent words of each language stay whole. The others are split before their ending if another word has
    the same stem, otherwise into halves. Accents stay. Each Chinese character is a token.

    Args:
        base: the tokens to extend, which keep their ids.
        whole_words: number of whole words per language.
    """
    normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    texts: dict[str, list[str]] = {}
    for instance in dataset.instances:
        for part in instance.parts:
            texts.setdefault(part.lang, []).append(part.raw)
    pieces: list[str] = []
    for lang in sorted(texts):
        ranked = _ranked(normalizer, texts[lang])
        stems = Counter(word[:-ending] for word in ranked for ending in range(1, _LONGEST_ENDING + 1))
        pieces += ranked[:whole_words]
        pieces += [piece for word in ranked[whole_words:] for piece in _split(word, stems)]
    letters = sorted({letter for piece in pieces for letter in piece if letter.lower() != letter.upper()})
    pieces += [mark + letter for letter in letters for mark in ("", "##")]
    return _bert_tokenizer((*base, *pieces), normalizer)


def build_text_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """For a text generator: every word of the texts is a token, with its case, so that generated text is readable.

    Single letters are in the vocabulary too. An end token closes each text.
    """
    normalizer, end = normalizers.BertNormalizer(lowercase=False), _BART["eos"]
    letters = [*ascii_letters, *(f"##{letter}" for letter in ascii_lowercase)]
    backend = _backend((*_BART.values(), *letters, *_ranked(normalizer, texts)), normalizer, _BART["unk"])
    backend.decoder = decoders.WordPiece(cleanup=True)
    backend.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", special_tokens=[(end, backend.token_to_id(end))]
    )
    return _wrapped(backend, _BART, ["input_ids", "attention_mask"])


def _ranked(normalizer: normalizers.Normalizer, texts: Iterable[str]) -> list[str]:
    """The words of texts as the tokenizer sees them, most frequent first."""
    splitter = pre_tokenizers.BertPreTokenizer()
    counts = Counter(word for text in texts for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    return sorted(counts, key=lambda word: (-counts[word], word))


def _halves(word: str) -> tuple[str, ...]:
    middle = (len(word) + 1) // 2
    return word[:middle], f"##{word[middle:]}"


def _split(word: str, stems: Counter[str]) -> tuple[str, ...]:
    """The pieces of a word; `stems` counts the words that have each stem."""
    if len(word) == 1:
        return (word,)
    for ending in range(1, _LONGEST_ENDING + 1):
        stem = word[:-ending]
        if len(stem) >= _SHORTEST_STEM and stems[stem] > 1:
            return stem, f"##{word[-ending:]}"
    return _halves(word)


def _bert_tokenizer(vocabulary: Iterable[str], normalizer: normalizers.Normalizer) -> PreTrainedTokenizerFast:
    backend = _backend(vocabulary, normalizer, _BERT["unk"])
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, backend.token_to_id(token)) for token in (_BERT["cls"], _BERT["sep"])],
    )
    return _wrapped(backend, _BERT, ["input_ids", "token_type_ids", "attention_mask"])


def _backend(vocabulary: Iterable[str], normalizer: normalizers.Normalizer, unknown: str) -> Tokenizer:
    tokens = {token: number for number, token in enumerate(dict.fromkeys(vocabulary))}
    backend = Tokenizer(models.WordPiece(tokens, unk_token=unknown))
    backend.normalizer, backend.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    return backend


def _wrapped(backend: Tokenizer, special: Mapping[str, str], inputs: list[str]) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=MAX_TOKENS,
        model_input_names=inputs,
        **{f"{role}_token": token for role, token in special.items()},
    )
