"""Statistics with their spread: intervals, tests, correlation, agreement, text metrics.

Names are imported from their modules, so that scoring two actions reads three of them, not all.
"""
