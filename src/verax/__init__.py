"""verax: tell whether an explanation of a language model can be trusted."""
