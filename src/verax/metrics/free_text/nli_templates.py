"""Templates of human explanations of an inference: phrases for each label, the most specific ones first.

X is the premise and Y the hypothesis, unless a template says otherwise. The first whose halves are statements is used,
so a phrase precedes more general ones.
"""

from __future__ import annotations

from typing import Any

from verax.metrics.free_text.templates import Template

ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"

VERSION = 2
"""Raised whenever a template is added, changed or moved: part of the provenance of a reading."""

_GIVEN = "(if|when|whenever|since|because|as|given that)"
_HARDLY = "[(necessarily|always|automatically)]"
_UNKNOWN = "(unknown|unclear|uncertain|not known|not clear|not certain|not said|not stated|not mentioned)"
_AT_ONCE = "(at the same time|at once|simultaneously)"
_BOTH_BE: dict[str, Any] = {"premise": "X be Y", "hypothesis": "X be Z"}
_BOTH_DO: dict[str, Any] = {"premise": "X do Y", "hypothesis": "X do Z"}
_OF_X: dict[str, Any] = {"premise": "X", "hypothesis": "X be Y"}
_BE_NOT = "(can not be|could not be|would not be|will not be|is not|are not)"
_NOT = "(can|could|would|will|does|do) not"

NLI_TEMPLATES: tuple[Template, ...] = (
    Template("X and Y (are not|do not mean) the same [thing]", CONTRADICTION),  # else it `does not mean`
    # not necessarily true
    Template(f"just because X [,] [(it|this|that)] (does|do) not {_HARDLY} (mean|imply) [that] Y", NEUTRAL),
    Template(f"(the fact that|the fact|that) X (does|do) not {_HARDLY} (mean|imply) [that] Y", NEUTRAL),
    Template(f"even (if|though) X [,] (it|this|that) does not {_HARDLY} (mean|imply) [that] Y", NEUTRAL),
    Template(f"X [,] but (it|this|that) does not {_HARDLY} (mean|imply) [that] Y", NEUTRAL),
    Template(f"X (does|do) not {_HARDLY} (mean|imply|entail) [that] Y", NEUTRAL),
    Template("(we|you|one) can not (tell|know|say|infer|assume|conclude) from X (that|whether|if) Y", NEUTRAL),
    Template(
        "(we|you|one) (can not|do not|does not) (tell|know|say|infer|assume|conclude) [(that|whether|if)] Y "
        "[(just|simply|only)] (because|since|from the fact that) X",
        NEUTRAL,
    ),
    Template("X (does|do) not (prove|show|guarantee|indicate|suggest) [that] Y", NEUTRAL),
    Template("X (does|do) not (tell|tell us|say|specify) (whether|if|that) Y", NEUTRAL),
    Template("X (is|are) (no|not a) (reason|ground) to (think|believe|assume|conclude) [that] Y", NEUTRAL),
    Template("it does not follow from X that Y", NEUTRAL),
    Template("Y does not [(necessarily|always)] follow from X", NEUTRAL),
    Template(f"X [,] (but|and|yet) it is {_UNKNOWN} (that|whether|if) Y", NEUTRAL),
    Template(f"even (if|though) X [,] it is {_UNKNOWN} (that|whether|if) Y", NEUTRAL),
    Template("X leaves [it] open (whether|if) Y", NEUTRAL),
    Template("X (whether or not|regardless of whether|no matter whether) Y", NEUTRAL),
    Template("X [,] but [(maybe|perhaps|possibly)] not because Y", NEUTRAL),
    Template("X (could|may|might) be Y (rather than|instead of) Z", NEUTRAL, **_BOTH_BE),
    Template("not all X (is|are) Y", NEUTRAL, **_OF_X),
    Template("not every X is Y", NEUTRAL, **_OF_X),
    Template("X (is|are) not (necessarily|always) Y", NEUTRAL, **_OF_X),
    Template("X (do|does) not (have|need) to be Y", NEUTRAL, **_OF_X),
    # cannot be true
    Template(f"it (is impossible|can not be [true]) that X and [that] Y [{_AT_ONCE}]", CONTRADICTION),
    Template(f"X and Y can not [both] be true [{_AT_ONCE}]", CONTRADICTION),
    Template("if X [,] [then] it (can not be|is not|is impossible|is not true|can not be true) that Y", CONTRADICTION),
    Template("X [,] (so|therefore|hence) it (can not be|is not|is not true|can not be true) that Y", CONTRADICTION),
    Template(f"X can not be [both] Y and Z {_AT_ONCE}", CONTRADICTION, **_BOTH_BE),
    Template("X can not (be both|be simultaneously|simultaneously be|both be) Y and Z", CONTRADICTION, **_BOTH_BE),
    Template(f"X can not [both] Y and Z {_AT_ONCE}", CONTRADICTION, **_BOTH_DO),
    Template("X can not (both|simultaneously) Y and Z", CONTRADICTION, **_BOTH_DO),
    Template("X can not be Y (if|when|because|since|as) Z", CONTRADICTION, "Z", "X be Y"),
    Template("X can not be Y while [(also|simultaneously)] Z", CONTRADICTION, **_BOTH_BE),
    Template("X can not be Y while Z", CONTRADICTION, "X be Y", "Z"),
    Template("X can not Y (if|when|because|since) Z", CONTRADICTION, "Z", "X do Y"),
    Template("X can not Y while [(also|simultaneously)] Z", CONTRADICTION, "X do Y", "X be Z"),
    Template(f"{_GIVEN} X (,|then|, then) Y {_BE_NOT} Z", CONTRADICTION, "X", "Y be Z"),
    Template(f"{_GIVEN} X (,|then|, then) Y {_NOT} Z", CONTRADICTION, "X", "Y do Z"),
    Template(f"X [,] (so|therefore|thus|hence) Y {_BE_NOT} Z", CONTRADICTION, "X", "Y be Z"),
    Template(f"X [,] (so|therefore|thus|hence) Y {_NOT} Z", CONTRADICTION, "X", "Y do Z"),
    Template("either X (is|are) Y or Z", CONTRADICTION, **_BOTH_BE),
    Template(
        "X (is|are|can be|must be|would be|could be|has to be|have to be) either Y or Z", CONTRADICTION, **_BOTH_BE
    ),
    Template("X (can|could|must|would|will|has to|have to) either be Y or Z", CONTRADICTION, **_BOTH_BE),
    Template("either X or Y", CONTRADICTION),
    Template("X either Y or Z", CONTRADICTION, "X Y", "X Z"),
    Template("X and Y (are|is) [(two|very|completely)] different [(things|actions|activities|places)]", CONTRADICTION),
    Template("X and Y (contradict each other|are opposites|are contradictory|exclude each other)", CONTRADICTION),
    Template("X (is|are) [(very|completely)] different (from|than) Y", CONTRADICTION),
    Template("X (is|are) not the same [thing] as Y", CONTRADICTION),
    Template("X (is|are) the opposite of Y", CONTRADICTION),
    Template("Y (contradicts|contradict) [(that|the claim that)] X", CONTRADICTION),
    Template("X (excludes|exclude|rules out|rule out) [that] Y", CONTRADICTION),
    Template(
        "one [sentence] says [that] X [,] (while|and|but) the other [(one|sentence)] says [that] Y", CONTRADICTION
    ),
    Template("X (rather than|instead of|as opposed to) Y", CONTRADICTION),
    Template("X [,] whereas Y", CONTRADICTION),
    # must be true
    Template("X and Y (are|mean|say) the same [thing]", ENTAILMENT),
    Template("X (is|are|means|mean) the same [thing] as [saying] [that] Y", ENTAILMENT),
    Template("Y is [(just|simply)] another way (of saying|to say) [that] X", ENTAILMENT),
    Template("Y is a (rephrasing|rewording|paraphrase|restatement) of X", ENTAILMENT),
    Template("X can be (rephrased|reworded|restated|said) as Y", ENTAILMENT),
    Template("X (is|are) (synonymous with|a synonym of|a synonym for|equivalent to) Y", ENTAILMENT),
    Template("Y (can be|is|are) (inferred|concluded) from X", ENTAILMENT),
    Template("from X it follows that Y", ENTAILMENT),
    Template("if X [,] then [it (follows|must be) that] Y", ENTAILMENT),
    Template(f"{_GIVEN} X , [it (follows|must be) that] Y", ENTAILMENT),
    Template("X [,] (which|this|that) (means|implies|shows) [that] Y", ENTAILMENT),
    Template("X [,] (meaning|implying|showing) [that] Y", ENTAILMENT),
    Template("X (implies|imply|entails|entail) [that] Y", ENTAILMENT),
    Template("X (means|mean) [that] Y", ENTAILMENT),
    Template("X (shows|show|indicates|indicate|suggests|suggest|proves|prove) [that] Y", ENTAILMENT),
    Template("X [,] [(and|so)] (therefore|thus|hence|consequently) Y", ENTAILMENT),
    Template("X [,] [and] so Y", ENTAILMENT),
    Template("X (is|are) a (kind|type|sort|form) of Y", ENTAILMENT),
    Template("X (equals|equal) Y", ENTAILMENT),
    Template("Y (because|since) X", ENTAILMENT),
    # one thing is another, or is not
    Template("X (is|are|can) not [be] Y", CONTRADICTION, nouns=True),
    Template("X (is|are|can be) [(also|considered)] Y", ENTAILMENT, nouns=True),
)
