"""The data sets of Madsen, Reddy and Chandar 2024, Table 2: a line for each, the part that may be masked first."""

from __future__ import annotations

from verax.data.public.on_disk import Babi, Clinical
from verax.data.public.on_hub import OnHub

_TWO_WAY = ("entailment", "not_entailment")
_THREE_WAY = ("entailment", "neutral", "contradiction")
_SENTENCES = ("sentence1", "sentence2")
_PREMISE = ("premise", "hypothesis")

rte = OnHub("rte", "nyu-mll/glue:rte", _SENTENCES, _TWO_WAY, "accuracy")
snli = OnHub("snli", "stanfordnlp/snli", _PREMISE, _THREE_WAY, "macro_f1", ("train", "validation", "test"))
mnli = OnHub("mnli", "nyu-mll/glue:mnli", _PREMISE, _THREE_WAY, "accuracy", ("train", "train", "validation_matched"))
qnli = OnHub("qnli", "nyu-mll/glue:qnli", ("sentence", "question"), _TWO_WAY, "accuracy")
cb = OnHub("cb", "aps/super_glue:cb", _PREMISE, ("entailment", "contradiction", "neutral"), "macro_f1")
mrpc = OnHub("mrpc", "nyu-mll/glue:mrpc", _SENTENCES, ("not_equivalent", "equivalent"), "macro_f1")
qqp = OnHub("qqp", "nyu-mll/glue:qqp", ("question1", "question2"), ("not_duplicate", "duplicate"), "macro_f1")
sst2 = OnHub("sst2", "nyu-mll/glue:sst2", ("sentence",), ("negative", "positive"), "accuracy")
imdb = OnHub("imdb", "stanfordnlp/imdb", ("text",), ("neg", "pos"), "macro_f1", ("train", "train", "test"))
anemia = Clinical("anemia", ("acute", "chronic"))
diabetes = Clinical("diabetes", ("no_diabetes", "diabetes"))
cola = OnHub("cola", "nyu-mll/glue:cola", ("sentence",), ("unacceptable", "acceptable"), "matthews")
boolq = OnHub("boolq", "aps/super_glue:boolq", ("passage", "question"), ("False", "True"), "accuracy")
babi_1 = Babi(1, "single-supporting-fact")
babi_2 = Babi(2, "two-supporting-facts")
babi_3 = Babi(3, "three-supporting-facts")
