"""Doors for the tools that people use already: inspect_ai, lm-eval, promptfoo, TRL, dataframes.

Nothing here is imported unless a tool asks for it, and no tool is imported by any other package.
What promptfoo's webhook and LiteLLM ask over HTTP is answered in `server`.
"""
