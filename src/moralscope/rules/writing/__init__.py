"""What a generator writes: rules for exchanges, and better replies."""
