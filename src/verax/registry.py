"""Names of methods, metrics, aligners, datasets and models: lazy, so that listing them imports nothing heavy."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Literal

from verax.types import UserError

Namespace = Literal[
    "methods", "metrics", "aligners", "editors", "reconstructions", "datasets", "models", "presets", "studies"
]


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name stands for: `module:object`, its kind, and what a person who chooses wants to know.

    `cost` counts passes for an input of n words; `reference` is that of the object, here so that nobody has to import
    it to read it.
    """

    name: str
    target: str
    kind: str
    summary: str
    cost: str = ""
    reference: str = ""


def _table(*entries: Entry) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries}


BUILT_IN: dict[Namespace, dict[str, Entry]] = {
    "methods": _table(
        Entry(
            "random",
            "verax.methods.token.random:Random",
            "token",
            "Scores drawn at random: the baseline.",
            "none",
            "baseline",
        ),
        Entry(
            "leave_one_out",
            "verax.methods.token.leave_one_out:LeaveOneOut",
            "token",
            "How much the target drops when a word is removed.",
            "n + 1 forward",
            "Li, Monroe and Jurafsky 2016, Understanding neural networks through representation erasure",
        ),
        Entry(
            "occlusion",
            "verax.methods.token.occlusion:Occlusion",
            "token",
            "How much the target drops when a window of words is removed.",
            "n + 1 forward",
            "Zeiler and Fergus 2014, Visualizing and understanding convolutional networks",
        ),
        Entry(
            "lime",
            "verax.methods.token.lime:Lime",
            "token",
            "Coefficients of a linear model that imitates the target around the input.",
            "samples + 1 forward",
            "Ribeiro, Singh and Guestrin 2016, Why should I trust you?",
        ),
        Entry(
            "shapley_sampling",
            "verax.methods.token.shapley_sampling:ShapleySampling",
            "token",
            "What a word adds, averaged over random orders.",
            "permutations (n - 1) + 2 forward, at most 2^n",
            "Castro, Gomez and Tejada 2009; Strumbelj and Kononenko 2010",
        ),
        Entry(
            "kernel_shap",
            "verax.methods.token.kernel_shap:KernelShap",
            "token",
            "Shapley values by regression on coalitions.",
            "2 n + 2048 forward, at most 2^n",
            "Lundberg and Lee 2017; paired as in Covert and Lee 2021",
        ),
        Entry(
            "exact_shapley",
            "verax.methods.token.exact_shapley:ExactShapley",
            "token",
            "Shapley values from every coalition; up to 14 words.",
            "2^n forward",
            "Shapley 1953, A value for n-person games; Strumbelj and Kononenko 2010",
        ),
        Entry(
            "beam",
            "verax.methods.token.beam:Beam",
            "token",
            "The order of removal that hurts the target most.",
            "about width n^2 / 2 forward",
            "Zhou and Shah 2023, The solvability of interpretability evaluation metrics",
        ),
        Entry(
            "saliency",
            "verax.methods.token.saliency:Saliency",
            "token",
            "Absolute gradient at the word embedding.",
            "1 forward, 1 backward",
            "Simonyan, Vedaldi and Zisserman 2014, Deep inside convolutional networks",
        ),
        Entry(
            "input_x_gradient",
            "verax.methods.token.input_x_gradient:InputXGradient",
            "token",
            "Gradient times word embedding.",
            "1 forward, 1 backward",
            "Shrikumar et al. 2016, Not just a black box",
        ),
        Entry(
            "guided_backprop",
            "verax.methods.token.guided_backprop:GuidedBackprop",
            "token",
            "Gradient that flows back through a ReLU only where it is positive.",
            "1 forward, 1 backward",
            "Springenberg et al. 2015, Striving for simplicity: the all convolutional net",
        ),
        Entry(
            "gradient_vocabulary",
            "verax.methods.token.gradient_vocabulary:GradientVocabulary",
            "token",
            "Norm over the vocabulary of the gradient at the one-hot input.",
            "1 forward, 1 backward",
            "Baehrens et al. 2010, How to explain individual classification decisions",
        ),
        Entry(
            "integrated_gradients",
            "verax.methods.token.integrated_gradients:IntegratedGradients",
            "token",
            "Gradient averaged along the path from a baseline, times the way gone.",
            "2 forward, steps backward",
            "Sundararajan, Taly and Yan 2017, Axiomatic attribution for deep networks",
        ),
        Entry(
            "activation",
            "verax.methods.token.activation:Activation",
            "token",
            "Size of the word embedding itself.",
            "none",
            "Karpathy, Johnson and Fei-Fei 2015, Visualizing and understanding recurrent networks",
        ),
        Entry(
            "attention",
            "verax.methods.token.attention:AttentionWeights",
            "token",
            "How much the position that the classifier reads attends to a word.",
            "1 forward, 1 backward",
            "Jain and Wallace 2019, Attention is not explanation; head as in Sun et al. 2024",
        ),
        Entry(
            "bivariate_shapley",
            "verax.methods.interaction.bivariate_shapley:BivariateShapley",
            "token_interaction",
            "What a word adds where another one is present, from the coalitions of Shapley values.",
            "those of kernel_shap",
            "Masoomi et al. 2022, Explanations of black-box models based on directional interactions",
        ),
        Entry(
            "attention_interaction",
            "verax.methods.interaction.attention_interaction:AttentionInteraction",
            "token_interaction",
            "How much two words attend to each other.",
            "1 forward, 1 backward",
            "Clark et al. 2019, What does BERT look at?; head as in Sun et al. 2024",
        ),
        Entry(
            "attention_attribution",
            "verax.methods.interaction.attention_attribution:AttentionAttribution",
            "token_interaction",
            "Integrated gradients of the attention maps, layer by layer.",
            "1 forward, 20 backward a layer",
            "Hao et al. 2021, Self-attention attribution; layer-wise as in Ye, Nair and Durrett 2021",
        ),
        Entry(
            "shapley_interaction",
            "verax.methods.interaction.shapley_interaction:ShapleyInteraction",
            "token_interaction",
            "What two words add together beyond each alone, through shapiq (extra: interactions).",
            "2 n + 2048 forward",
            "Grabisch and Roubens 1999; estimated as in Fumagalli et al. 2024, KernelSHAP-IQ",
        ),
        Entry(
            "random_interaction",
            "verax.methods.interaction.random_interaction:RandomInteraction",
            "token_interaction",
            "Random scores for word pairs: the baseline of interactions.",
            "none",
            "baseline",
        ),
        Entry(
            "louvain",
            "verax.methods.span.louvain:Louvain",
            "span_interaction",
            "Pairs of spans: communities of words that an interaction ties together.",
            "those of its interaction",
            "Ray Choudhury et al. 2023, Explaining interactions between text spans",
        ),
        Entry(
            "random_span",
            "verax.methods.span.random_span:RandomSpan",
            "span_interaction",
            "Random pairs of spans: the baseline of spans.",
            "none",
            "baseline",
        ),
        Entry(
            "mt_re",
            "verax.methods.text.answer_first:MTRe",
            "text",
            "One model answers and explains; the explanation knows nothing of the answer.",
            "1 text, labels continuations",
            "Hase et al. 2020; Atanasova et al. 2023, Equation 3",
        ),
        Entry(
            "mt_ra",
            "verax.methods.text.answer_first:MTRa",
            "text",
            "One model answers, then explains the class that it predicts.",
            "1 text, labels continuations",
            "Hase et al. 2020; Atanasova et al. 2023, Equation 3",
        ),
        Entry(
            "st_re",
            "verax.methods.text.explanation_first:STRe",
            "text",
            "One model explains, another answers with the explanation before it.",
            "1 text, labels continuations",
            "Hase et al. 2020; Atanasova et al. 2023, Equation 3",
        ),
        Entry(
            "st_ra",
            "verax.methods.text.explanation_first:STRa",
            "text",
            "One model explains every class, another picks the one that its explanation makes most probable.",
            "labels texts, labels^2 continuations",
            "Hase et al. 2020; Atanasova et al. 2023, Equation 3",
        ),
        Entry(
            "explain_then_answer",
            "verax.methods.text.explanation_first:ExplainThenAnswer",
            "text",
            "An instruction model gives reasons, then the class that they lead to.",
            "1 text, labels continuations or 1 text",
            "as ST-Re, by prompts",
        ),
        Entry(
            "answer_then_explain",
            "verax.methods.text.answer_first:AnswerThenExplain",
            "text",
            "An instruction model gives the class, then says why.",
            "1 text, labels continuations or 1 text",
            "as MT-Ra, by prompts",
        ),
    ),
    "metrics": _table(
        Entry(
            "comprehensiveness",
            "verax.metrics.faithfulness.comprehensiveness:Comprehensiveness",
            "faithfulness",
            "Drop of the predicted class when the top words are deleted (AOPC); higher is better.",
            "bins + 1 forward",
            "DeYoung et al. 2020, ERASER, Section 4.2",
        ),
        Entry(
            "sufficiency",
            "verax.metrics.faithfulness.sufficiency:Sufficiency",
            "faithfulness",
            "Drop of the predicted class when only the top words are left (AOPC); lower is better.",
            "bins + 1 forward",
            "DeYoung et al. 2020, ERASER, Section 4.2",
        ),
        Entry(
            "recursive_masking",
            "verax.metrics.faithfulness.recursive_masking:RecursiveMasking",
            "faithfulness",
            "Drop of the gold class while the top words are masked and the rest is explained anew; gives ACU and RACU.",
            "steps + 1 forward, and steps - 1 explanations",
            "Madsen, Reddy and Chandar 2024, Faithfulness measurable masked language models, Algorithm 3",
        ),
        Entry(
            "in_distribution",
            "verax.metrics.faithfulness.in_distribution:InDistribution",
            "faithfulness",
            "Whether inputs masked as the explanation says are still such as the model knows (MaSF); p-values.",
            "steps + 1 forward, and steps - 1 explanations",
            "Matan et al. 2022 (MaSF); Madsen, Reddy and Chandar 2024, Algorithm 2",
        ),
        Entry(
            "comprehensiveness_flips",
            "verax.metrics.faithfulness.comprehensiveness_flips:ComprehensivenessFlips",
            "faithfulness",
            "Share of perturbations without the top words that change the prediction, at matched budgets.",
            "k + 1 forward",
            "Sun, Atanasova and Augenstein 2024, Equations 2 to 8",
        ),
        Entry(
            "sufficiency_flips",
            "verax.metrics.faithfulness.sufficiency_flips:SufficiencyFlips",
            "faithfulness",
            "Share of perturbations with the top words alone that keep the prediction, at matched budgets.",
            "k + 1 forward",
            "Sun, Atanasova and Augenstein 2024, Equations 2 to 8",
        ),
        Entry(
            "agreement",
            "verax.metrics.agreement.agreement:Agreement",
            "agreement",
            "Average precision against the words, or pairs of words, that people marked; higher is better.",
            "none",
            "DeYoung et al. 2020, ERASER, Section 4.1; Sun, Atanasova and Augenstein 2024, Section 2.3",
        ),
        Entry(
            "plausibility",
            "verax.metrics.agreement.plausibility:Plausibility",
            "agreement",
            "Average precision of word scores against the words that people marked; higher is better.",
            "none",
            "Zaman and Belinkov 2022, Equation 7",
        ),
        Entry(
            "complexity",
            "verax.metrics.complexity.complexity:Complexity",
            "complexity",
            "Entropy of the scores; lower is simpler.",
            "none",
            "Bhatt, Weller and Moura 2021; matched as in Sun, Atanasova and Augenstein 2024, Equations 18 and 19",
        ),
        Entry(
            "simulatability",
            "verax.metrics.simulatability.simulatability:Simulatability",
            "simulatability",
            "Whether agents that see the explanation foresee the model's class better; gives SF and RSF.",
            "none; trains seeds agents for each method, and seeds without explanations",
            "Sun, Atanasova and Augenstein 2024, Equations 12 to 15 and Appendix B",
        ),
        Entry(
            "crosslingual_faithfulness",
            "verax.metrics.crosslingual.crosslingual_faithfulness:CrosslingualFaithfulness",
            "crosslingual",
            "Rank correlation of the scores of an input's words with those of the words that translate them.",
            "none",
            "Zaman and Belinkov 2022, A multilingual perspective towards the evaluation of attribution methods in "
            "natural language inference, Equations 3 and 4",
        ),
        Entry(
            "counterfactual_test",
            "verax.metrics.free_text.counterfactual_test:CounterfactualTest",
            "text",
            "Whether explanations mention inserted words that change the prediction; a test of consistency.",
            "positions x candidates x parts (x other classes) answers, a text for each change",
            "Atanasova et al. 2023, Section 2.1",
        ),
        Entry(
            "reconstruction_test",
            "verax.metrics.free_text.reconstruction_test:ReconstructionTest",
            "text",
            "Whether the reasons alone lead to the same prediction; a test of consistency.",
            "1 answer",
            "Atanasova et al. 2023, Section 2.2",
        ),
        Entry(
            "bleu",
            "verax.metrics.free_text.bleu:Bleu",
            "text",
            "How much of the wording of people's explanations is met.",
            "none",
            "Papineni et al. 2002; Post 2018",
        ),
    ),
    "aligners": _table(
        Entry(
            "embedding",
            "verax.align.embedding:Embedding",
            "encoder",
            "Links words whose hidden states in a multilingual encoder are alike.",
            "1 forward for each text",
            "Dou and Neubig 2021, Word alignment by fine-tuning embeddings on parallel corpora; "
            "Jalili Sabet et al. 2020, SimAlign",
        ),
        Entry("given", "verax.align.given:Given", "data", "The links that came with the data.", "none", "the data"),
        Entry(
            "random",
            "verax.align.random:Random",
            "baseline",
            "Links drawn at random: the baseline.",
            "none",
            "Zaman and Belinkov 2022, Appendix D",
        ),
        Entry(
            "eflomal",
            "verax.align.eflomal:Eflomal",
            "tool",
            "Links that the tool eflomal learns from the texts alone, if it is installed.",
            "none",
            "Östling and Tiedemann 2016, Efficient word alignment with Markov chain Monte Carlo",
        ),
    ),
    "datasets": _table(
        Entry(
            "world/nli",
            "verax.data.world.nli:load",
            "built-in",
            "Inference pairs from a small knowledge base, with gold words, span pairs and explanations.",
        ),
        Entry(
            "world/facts",
            "verax.data.world.fact_checking:load",
            "built-in",
            "Claims and evidence of several sentences, with gold words, span pairs and explanations.",
        ),
        Entry(
            "world/xnli",
            "verax.data.world.xnli:load",
            "built-in",
            "The same inference pairs in en, de, es, fr, bg and zh, with gold words, span pairs and word alignments.",
        ),
        Entry(
            "world/xnli-mixed",
            "verax.data.world.xnli:mixed",
            "built-in",
            "Inference pairs with the premise in one language and the hypothesis in another.",
        ),
        Entry(
            "world/opinion",
            "verax.data.world.opinion:load",
            "built-in",
            "Opinions about things with negation and contrast, with gold words and explanations.",
        ),
        Entry(
            "world/questions",
            "verax.data.world.questions:load",
            "built-in",
            "Questions with three choices, with gold words, span pairs and explanations in several phrasings.",
        ),
        Entry(
            "world/commonsense",
            "verax.data.world.commonsense:load",
            "built-in",
            "Which of two sentences is against common sense? With gold words, span pairs and explanations.",
        ),
        Entry(
            "rte",
            "verax.data.public.sets:rte",
            "public",
            "Does the second text follow from the first? GLUE, from the hub.",
            reference="Dagan, Glickman and Magnini 2006, The PASCAL recognising textual entailment challenge",
        ),
        Entry(
            "snli",
            "verax.data.public.sets:snli",
            "public",
            "Does a caption follow from another, contradict it, or neither? From the hub.",
            reference="Bowman et al. 2015, A large annotated corpus for learning natural language inference",
        ),
        Entry(
            "mnli",
            "verax.data.public.sets:mnli",
            "public",
            "Does a sentence follow from another, contradict it, or neither? Many genres. GLUE, from the hub.",
            reference="Williams, Nangia and Bowman 2018, A broad-coverage challenge corpus for sentence understanding "
            "through inference",
        ),
        Entry(
            "qnli",
            "verax.data.public.sets:qnli",
            "public",
            "Does a sentence hold the answer to a question? GLUE, from the hub.",
            reference="Rajpurkar et al. 2016, SQuAD: 100,000+ questions for machine comprehension of text",
        ),
        Entry(
            "cb",
            "verax.data.public.sets:cb",
            "public",
            "Is the writer committed to an embedded clause? SuperGLUE, from the hub.",
            reference="De Marneffe, Simons and Tonhauser 2019, The CommitmentBank: investigating projection in "
            "naturally occurring discourse",
        ),
        Entry(
            "mrpc",
            "verax.data.public.sets:mrpc",
            "public",
            "Do two sentences of the news say the same? GLUE, from the hub.",
            reference="Dolan and Brockett 2005, Automatically constructing a corpus of sentential paraphrases",
        ),
        Entry(
            "qqp",
            "verax.data.public.sets:qqp",
            "public",
            "Do two questions ask the same? GLUE, from the hub.",
            reference="Iyer, Dandekar and Csernai 2017, First Quora dataset release: question pairs",
        ),
        Entry(
            "sst2",
            "verax.data.public.sets:sst2",
            "public",
            "Sentiment of sentences from film reviews. GLUE, from the hub.",
            reference="Socher et al. 2013, Recursive deep models for semantic compositionality over a sentiment "
            "treebank",
        ),
        Entry(
            "imdb",
            "verax.data.public.sets:imdb",
            "public",
            "Sentiment of whole film reviews. From the hub.",
            reference="Maas et al. 2011, Learning word vectors for sentiment analysis",
        ),
        Entry(
            "anemia",
            "verax.data.public.sets:anemia",
            "public",
            "Acute or chronic anemia, from clinical notes; from files of your own.",
            reference="Johnson et al. 2016, MIMIC-III, a freely accessible critical care database",
        ),
        Entry(
            "diabetes",
            "verax.data.public.sets:diabetes",
            "public",
            "Diabetes or not, from clinical notes; from files of your own.",
            reference="Johnson et al. 2016, MIMIC-III, a freely accessible critical care database",
        ),
        Entry(
            "cola",
            "verax.data.public.sets:cola",
            "public",
            "Is a sentence acceptable English? GLUE, from the hub.",
            reference="Warstadt, Singh and Bowman 2019, Neural network acceptability judgments",
        ),
        Entry(
            "boolq",
            "verax.data.public.sets:boolq",
            "public",
            "Yes or no to a question about a passage. SuperGLUE, from the hub.",
            reference="Clark et al. 2019, BoolQ: exploring the surprising difficulty of natural yes/no questions",
        ),
        Entry(
            "babi-1",
            "verax.data.public.sets:babi_1",
            "public",
            "Where is somebody? One sentence of the story tells; with gold words, from files of your own.",
            reference="Weston et al. 2016, Towards AI-complete question answering: a set of prerequisite toy tasks",
        ),
        Entry(
            "babi-2",
            "verax.data.public.sets:babi_2",
            "public",
            "Where is a thing? Two sentences of the story tell; with gold words, from files of your own.",
            reference="Weston et al. 2016, Towards AI-complete question answering: a set of prerequisite toy tasks",
        ),
        Entry(
            "babi-3",
            "verax.data.public.sets:babi_3",
            "public",
            "Where was a thing before? Three sentences tell; with gold words, from files of your own.",
            reference="Weston et al. 2016, Towards AI-complete question answering: a set of prerequisite toy tasks",
        ),
        Entry(
            "esnli",
            "verax.data.public.annotated:esnli",
            "annotated",
            "SNLI with the words that annotators marked and why; from files of your own.",
            reference="Camburu et al. 2018, e-SNLI: natural language inference with natural language explanations",
        ),
        Entry(
            "fever",
            "verax.data.public.annotated:fever",
            "annotated",
            "Does evidence support a claim, refute it, or neither? From files of your own.",
            reference="Thorne et al. 2018, FEVER: a large-scale dataset for fact extraction and verification; evidence "
            "of Atanasova, Wright and Augenstein 2020",
        ),
        Entry(
            "spanex-snli",
            "verax.data.public.annotated:spanex_snli",
            "annotated",
            "Pairs of SNLI with gold words and span pairs; from files of your own.",
            reference="Ray Choudhury, Atanasova and Augenstein 2023, Explaining interactions between text spans",
        ),
        Entry(
            "spanex-fever",
            "verax.data.public.annotated:spanex_fever",
            "annotated",
            "Claims of FEVER with gold words and span pairs; from files of your own.",
            reference="Ray Choudhury, Atanasova and Augenstein 2023, Explaining interactions between text spans",
        ),
    ),
    "editors": _table(
        Entry(
            "random",
            "verax.metrics.free_text.random_editor:RandomEditor",
            "built-in",
            "An adjective of WordNet before a noun or an adverb before a verb, drawn at random.",
            reference="Atanasova et al. 2023, Section 3",
        ),
        Entry(
            "infill",
            "verax.metrics.free_text.infill_editor:InfillEditor",
            "built-in",
            "One to three words that a trained editor puts in to lead to another class.",
            reference="Atanasova et al. 2023, Section 2.1; Ross, Marasovic and Peters 2021",
        ),
    ),
    "reconstructions": _table(
        Entry(
            "nli_templates",
            "verax.metrics.free_text.reconstruction:NliByTemplates",
            "built-in",
            "Premise and hypothesis as a template finds them in the explanation.",
            reference="Atanasova et al. 2023, Section 2.2; Camburu et al. 2020",
        ),
        Entry(
            "comve_replacement",
            "verax.metrics.free_text.reconstruction:ComveByReplacement",
            "built-in",
            "The sentence that is held to be right is replaced by the explanation.",
            reference="Atanasova et al. 2023, Section 2.2",
        ),
        Entry(
            "model_written",
            "verax.metrics.free_text.model_written:ModelWritten",
            "built-in",
            "A model that follows instructions writes the input anew from the explanation.",
            reference="Atanasova et al. 2023, Limitations",
        ),
    ),
    "models": _table(
        Entry("world/nli", "verax.models.shipped:world_nli", "built-in", "Small BERT for world/nli."),
        Entry("world/xnli", "verax.models.shipped:world_xnli", "built-in", "Small BERT for world/xnli, six languages."),
        Entry("world/facts", "verax.models.shipped:world_facts", "built-in", "Small BERT for world/facts."),
        Entry("world/opinion", "verax.models.shipped:world_opinion", "built-in", "Small BERT for world/opinion."),
        Entry(
            "world/opinion-masked",
            "verax.models.shipped:world_opinion_masked",
            "built-in",
            "The same, fine-tuned with masking: its explanations can be measured by masking.",
        ),
        Entry(
            "world/nli-mt-ra",
            "verax.models.shipped:world_nli_mt_ra",
            "built-in",
            "Small BART for world/nli that answers and then says why.",
        ),
        Entry(
            "world/nli-st-re",
            "verax.models.shipped:world_nli_st_re",
            "built-in",
            "Two small BARTs for world/nli: one says why, the other answers by that.",
        ),
        Entry(
            "world/nli-editor",
            "verax.models.shipped:world_nli_editor",
            "built-in",
            "Small BART that puts words into an input of world/nli so that it fits a class.",
        ),
    ),
    "presets": _table(
        Entry(
            "attribution-table",
            "verax.run.presets:ATTRIBUTION_TABLE",
            "built-in",
            "13 attributions of the prediction and of the loss, judged by erasure and by people.",
            reference="Zaman and Belinkov 2022, Table 1",
        ),
        Entry(
            "importance-measures",
            "verax.run.presets:IMPORTANCE_MEASURES",
            "built-in",
            "9 importance measures of the gold logit, judged by masking and by people.",
            reference="Madsen, Reddy and Chandar 2024, Table 4",
        ),
        Entry(
            "faithfulness-measurable",
            "verax.run.presets:FAITHFULNESS_MEASURABLE",
            "built-in",
            "9 importance measures judged by recursive masking, with the test that it stays in-distribution.",
            reference="Madsen, Reddy and Chandar 2024, Tables 1, 11 and 12",
        ),
        Entry(
            "crosslingual",
            "verax.run.presets:CROSSLINGUAL",
            "built-in",
            "The attributions of attribution-table judged across languages, by erasure and by people.",
            reference="Zaman and Belinkov 2022, Tables 1 to 4 and 7 to 17",
        ),
        Entry(
            "nle",
            "verax.run.presets:NLE",
            "built-in",
            "Free-text explanations: counterfactual edits, input reconstruction, BLEU against people's.",
            reference="Atanasova et al. 2023, Tables 2, 3 and 7",
        ),
        Entry(
            "unified",
            "verax.run.presets:UNIFIED",
            "built-in",
            "Words, word pairs and span pairs of three bases: faithfulness, agreement, simulatability, complexity.",
            reference="Sun, Atanasova and Augenstein 2024, Tables 3 to 12",
        ),
    ),
}


BUILT_IN["studies"] = _table(
    Entry("leaderboard", "verax.studies.leaderboard:STUDY", "built-in", "Every method under every metric."),
    Entry("masking", "verax.studies.masking:STUDY", "built-in", "Recursive masking."),
)


def entries(namespace: Namespace) -> dict[str, Entry]:
    """All names of a room: the built-in ones, then those of plug-ins (entry-point group `verax.<room>`)."""
    found = dict(BUILT_IN[namespace])
    for point in entry_points(group=f"verax.{namespace}"):
        if point.name in found:
            raise UserError(f"the plug-in {point.value} calls itself {point.name!r}, which is taken in {namespace}")
        origin = point.dist.name if point.dist else "a plug-in"
        found[point.name] = Entry(point.name, point.value, "plug-in", f"From {origin}.")
    return found


def resolve(namespace: Namespace, name: str) -> Any:
    """The object behind a name, imported now."""
    table = entries(namespace)
    if name not in table:
        raise UserError(unknown(namespace.removesuffix("s"), name, table))
    module, _, attribute = table[name].target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def unknown(what: str, name: str, valid: Iterable[str]) -> str:
    """The message for a name that nobody knows, with the nearest one that somebody does."""
    names = list(valid)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(sorted(names))}"
    return f"unknown {what} {name!r}; {hint}"
