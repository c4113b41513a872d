"""Data, recipes and figures of the experts and the generator that read rules of thumb."""
