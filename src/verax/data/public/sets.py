"""The data sets of Madsen, Reddy and Chandar 2024, Table 2; of two parts, only the first may be masked."""

from __future__ import annotations

from verax.data.public.on_disk import Babi, Clinical
from verax.data.public.on_hub import OnHub

_TWO_WAY = ("entailment", "not_entailment")
_THREE_WAY = ("entailment", "neutral", "contradiction")
_SENTENCES = ("sentence1", "sentence2")
_PREMISE = ("premise", "hypothesis")

rte = OnHub(
    "rte",
    "Does the second text follow from the first? GLUE, from the hub.",
    "Dagan, Glickman and Magnini 2006, The PASCAL recognising textual entailment challenge",
    "nyu-mll/glue:rte",
    _SENTENCES,
    _TWO_WAY,
    "accuracy",
)
snli = OnHub(
    "snli",
    "Does a caption follow from another, contradict it, or neither? From the hub.",
    "Bowman et al. 2015, A large annotated corpus for learning natural language inference",
    "stanfordnlp/snli",
    _PREMISE,
    _THREE_WAY,
    "macro_f1",
    ("train", "validation", "test"),
)
mnli = OnHub(
    "mnli",
    "Does a sentence follow from another, contradict it, or neither? Many genres. GLUE, from the hub.",
    "Williams, Nangia and Bowman 2018, A broad-coverage challenge corpus for sentence understanding through inference",
    "nyu-mll/glue:mnli",
    _PREMISE,
    _THREE_WAY,
    "accuracy",
    ("train", "train", "validation_matched"),
)
qnli = OnHub(
    "qnli",
    "Does a sentence contain the answer to a question? GLUE, from the hub.",
    "Rajpurkar et al. 2016, SQuAD: 100,000+ questions for machine comprehension of text",
    "nyu-mll/glue:qnli",
    ("sentence", "question"),
    _TWO_WAY,
    "accuracy",
)
cb = OnHub(
    "cb",
    "Is the writer committed to an embedded clause? SuperGLUE, from the hub.",
    "De Marneffe, Simons and Tonhauser 2019, The CommitmentBank: investigating projection in naturally occurring "
    "discourse",
    "aps/super_glue:cb",
    _PREMISE,
    ("entailment", "contradiction", "neutral"),
    "macro_f1",
)
mrpc = OnHub(
    "mrpc",
    "Do two sentences from the news say the same? GLUE, from the hub.",
    "Dolan and Brockett 2005, Automatically constructing a corpus of sentential paraphrases",
    "nyu-mll/glue:mrpc",
    _SENTENCES,
    ("not_equivalent", "equivalent"),
    "macro_f1",
)
qqp = OnHub(
    "qqp",
    "Do two questions ask the same? GLUE, from the hub.",
    "Iyer, Dandekar and Csernai 2017, First Quora dataset release: question pairs",
    "nyu-mll/glue:qqp",
    ("question1", "question2"),
    ("not_duplicate", "duplicate"),
    "macro_f1",
)
sst2 = OnHub(
    "sst2",
    "Sentiment of sentences from film reviews. GLUE, from the hub.",
    "Socher et al. 2013, Recursive deep models for semantic compositionality over a sentiment treebank",
    "nyu-mll/glue:sst2",
    ("sentence",),
    ("negative", "positive"),
    "accuracy",
)
imdb = OnHub(
    "imdb",
    "Sentiment of whole film reviews. From the hub.",
    "Maas et al. 2011, Learning word vectors for sentiment analysis",
    "stanfordnlp/imdb",
    ("text",),
    ("neg", "pos"),
    "macro_f1",
    ("train", "train", "test"),
)
anemia = Clinical("anemia", "Acute or chronic anemia, from clinical notes; from your own files.", ("acute", "chronic"))
diabetes = Clinical(
    "diabetes", "Diabetes or not, from clinical notes; from your own files.", ("no_diabetes", "diabetes")
)
cola = OnHub(
    "cola",
    "Is a sentence acceptable English? GLUE, from the hub.",
    "Warstadt, Singh and Bowman 2019, Neural network acceptability judgments",
    "nyu-mll/glue:cola",
    ("sentence",),
    ("unacceptable", "acceptable"),
    "matthews",
)
boolq = OnHub(
    "boolq",
    "Yes or no to a question about a passage. SuperGLUE, from the hub.",
    "Clark et al. 2019, BoolQ: exploring the surprising difficulty of natural yes/no questions",
    "aps/super_glue:boolq",
    ("passage", "question"),
    ("False", "True"),
    "accuracy",
)
babi_1 = Babi(
    "babi-1",
    "Where is somebody? One sentence of the story decides; with gold words, from your own files.",
    1,
    "single-supporting-fact",
)
babi_2 = Babi(
    "babi-2",
    "Where is a thing? Two sentences of the story decide; with gold words, from your own files.",
    2,
    "two-supporting-facts",
)
babi_3 = Babi(
    "babi-3",
    "Where was a thing before? Three sentences decide; with gold words, from your own files.",
    3,
    "three-supporting-facts",
)
