"""The room of the Moral Integrity Corpus (Ziems et al. 2022): exchanges, rules of thumb, audits."""
