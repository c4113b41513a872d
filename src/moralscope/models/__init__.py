"""Models: encoders, language models, classifiers, their training and the store of weights."""
