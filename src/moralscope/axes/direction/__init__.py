"""The Moral Compass (Schramowski et al. 2019): the moral direction of an encoder."""
