"""Dilemmas and questionnaires put to language models, in every order, form and wording."""
