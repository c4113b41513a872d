"""Words: association (WEAT), dos and don'ts of a vocabulary, corpora compared, word vectors."""
