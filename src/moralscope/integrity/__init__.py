"""The room of the Moral Integrity Corpus: rules of thumb for chatbot replies. Built later."""
