"""Training: one loop for classifiers and generators, and its checkpoints."""

from moralscope.models.training.loop import History, Learner, Moment, Schedule, train

__all__ = ["History", "Learner", "Moment", "Schedule", "train"]
