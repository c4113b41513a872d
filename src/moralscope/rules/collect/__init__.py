"""Exchanges collected from chatbots: asking, filtering, and training the filters."""
