"""Public data sets by name.

Those on the hub, the clinical ones and bAbI are the data sets of Madsen, Reddy and Chandar 2024, Table 2; of two parts,
only the first may be masked. Their largest numbers of epochs are those of its Table 3.
"""

from __future__ import annotations

from verax.data.esnli import ESNLI
from verax.data.fever import FEVER
from verax.data.public.loaders import Babi, Clinical, InFiles, OnHub
from verax.data.spanex import SPANEX_FEVER, SPANEX_SNLI

_TWO_WAY = ("entailment", "not_entailment")
_THREE_WAY = ("entailment", "neutral", "contradiction")
_SENTENCES = ("sentence1", "sentence2")
_PREMISE = ("premise", "hypothesis")
_MIMIC = "Johnson et al. 2016, MIMIC-III, a freely accessible critical care database"
_BABI = "Weston et al. 2016, Towards AI-complete question answering: a set of prerequisite toy tasks"
_SPANEX = "Ray Choudhury, Atanasova and Augenstein 2023, Explaining interactions between text spans"

rte = OnHub(
    "rte",
    "Does the second text follow from the first? GLUE, from the hub.",
    "Dagan, Glickman and Magnini 2006, The PASCAL recognising textual entailment challenge",
    "nyu-mll/glue:rte",
    _SENTENCES,
    _TWO_WAY,
    "accuracy",
    max_epochs=30,
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
    max_epochs=10,
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
    max_epochs=10,
)
qnli = OnHub(
    "qnli",
    "Does a sentence contain the answer to a question? GLUE, from the hub.",
    "Rajpurkar et al. 2016, SQuAD: 100,000+ questions for machine comprehension of text",
    "nyu-mll/glue:qnli",
    ("sentence", "question"),
    _TWO_WAY,
    "accuracy",
    max_epochs=20,
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
    max_epochs=50,
)
mrpc = OnHub(
    "mrpc",
    "Do two sentences from the news say the same? GLUE, from the hub.",
    "Dolan and Brockett 2005, Automatically constructing a corpus of sentential paraphrases",
    "nyu-mll/glue:mrpc",
    _SENTENCES,
    ("not_equivalent", "equivalent"),
    "macro_f1",
    max_epochs=20,
)
qqp = OnHub(
    "qqp",
    "Do two questions ask the same? GLUE, from the hub.",
    "Iyer, Dandekar and Csernai 2017, First Quora dataset release: question pairs",
    "nyu-mll/glue:qqp",
    ("question1", "question2"),
    ("not_duplicate", "duplicate"),
    "macro_f1",
    max_epochs=10,
)
sst2 = OnHub(
    "sst2",
    "Sentiment of sentences from film reviews. GLUE, from the hub.",
    "Socher et al. 2013, Recursive deep models for semantic compositionality over a sentiment treebank",
    "nyu-mll/glue:sst2",
    ("sentence",),
    ("negative", "positive"),
    "accuracy",
    max_epochs=10,
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
    max_epochs=10,
)
anemia = Clinical(
    "anemia",
    "Acute or chronic anemia, from clinical notes; from your own files.",
    _MIMIC,
    ("acute", "chronic"),
    max_epochs=20,
)
diabetes = Clinical(
    "diabetes",
    "Diabetes or not, from clinical notes; from your own files.",
    _MIMIC,
    ("no_diabetes", "diabetes"),
    max_epochs=20,
)
cola = OnHub(
    "cola",
    "Is a sentence acceptable English? GLUE, from the hub.",
    "Warstadt, Singh and Bowman 2019, Neural network acceptability judgments",
    "nyu-mll/glue:cola",
    ("sentence",),
    ("unacceptable", "acceptable"),
    "matthews",
    max_epochs=15,
)
boolq = OnHub(
    "boolq",
    "Yes or no to a question about a passage. SuperGLUE, from the hub.",
    "Clark et al. 2019, BoolQ: exploring the surprising difficulty of natural yes/no questions",
    "aps/super_glue:boolq",
    ("passage", "question"),
    ("False", "True"),
    "accuracy",
    max_epochs=15,
)
babi_1 = Babi(
    "babi-1",
    "Where is somebody? One sentence of the story decides; with gold words, from your own files.",
    _BABI,
    1,
    "single-supporting-fact",
    max_epochs=20,
)
babi_2 = Babi(
    "babi-2",
    "Where is a thing? Two sentences of the story decide; with gold words, from your own files.",
    _BABI,
    2,
    "two-supporting-facts",
    max_epochs=20,
)
babi_3 = Babi(
    "babi-3",
    "Where was a thing before? Three sentences decide; with gold words, from your own files.",
    _BABI,
    3,
    "three-supporting-facts",
    max_epochs=20,
)
esnli = InFiles(
    "esnli",
    "SNLI with human highlights and explanations; from your own files.",
    "Camburu et al. 2018, e-SNLI: natural language inference with natural language explanations",
    ESNLI,
    ("esnli", "", "e-SNLI/dataset", "e-SNLI"),
    {
        "train": ("esnli_train_1.csv", "esnli_train_2.csv"),
        "validation": ("esnli_dev.csv",),
        "test": ("esnli_test.csv",),
    },
)
fever = InFiles(
    "fever",
    "Does evidence support a claim, refute it, or neither? From your own files.",
    "Thorne et al. 2018, FEVER: a large-scale dataset for fact extraction and verification; evidence of Atanasova, "
    "Wright and Augenstein 2020",
    FEVER,
    ("fever", "fever_gold_evidence"),
    {"train": ("train.jsonl",), "validation": ("valid.jsonl",), "test": ("test.jsonl",)},
)
spanex_snli = InFiles(
    "spanex-snli",
    "Pairs of SNLI with gold words and span pairs; from your own files.",
    _SPANEX,
    SPANEX_SNLI,
    ("spanex",),
    {"test": ("snli.jsonl",)},
)
spanex_fever = InFiles(
    "spanex-fever",
    "Claims of FEVER with gold words and span pairs; from your own files.",
    _SPANEX,
    SPANEX_FEVER,
    ("spanex",),
    {"test": ("fever.jsonl",)},
)
