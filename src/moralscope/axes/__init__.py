"""Moral axes: choice, direction and judge; score, compare and rank actions, people beside them."""
