"""Does what a model says of its reasons agree with what it does? Tests of explanations in free text."""
