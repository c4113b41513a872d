"""Norms read by sentence frames and rewritten: reversed, restated, put into the first person."""
