"""Two saved runs, a baseline and a new one, compared item by item and held against a gate."""
