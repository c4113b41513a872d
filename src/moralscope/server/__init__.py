"""The HTTP door: FastAPI applications, what all of them share, and one file of routes per job.

Nothing here decides anything about annotation or audits: a handler checks who asks, calls one job
and draws its answer.
"""
