"""The judge: experts trained on Moral Stories say how probably people call an action moral."""
