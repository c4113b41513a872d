"""Rules of thumb (Moral Integrity Corpus, Ziems et al. 2022): rulebooks, audits, training."""
