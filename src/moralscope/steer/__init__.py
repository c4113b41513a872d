"""Steering: edit and teach encoders, push language models, and see what else moved."""
