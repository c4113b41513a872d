"""A corpus of any size, worked through in blocks: read, planned, computed, written.

Knows nothing of what is computed. Two passes: the plan numbers the rows and finds the first
occurrence of every text; then each block's own texts are computed and joined.
"""
