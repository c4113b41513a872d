"""The Moral Compass (Schramowski et al. 2019): the moral direction of an encoder."""

from moralscope.axes.direction.axis import DirectionAxis
from moralscope.axes.direction.fitting import Anchors, Direction, fit_labelled, fit_pca
from moralscope.axes.direction.paper import load_paper
from moralscope.axes.direction.saved import load_direction, save_direction

__all__ = [
    "Anchors",
    "Direction",
    "DirectionAxis",
    "fit_labelled",
    "fit_pca",
    "load_direction",
    "load_paper",
    "save_direction",
]
