"""The room of BERT has a Moral Compass: the moral direction. Built later."""
