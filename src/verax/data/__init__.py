"""Where instances come from: the built-in corpus, files of one's own, Hugging Face datasets; how words are split."""
