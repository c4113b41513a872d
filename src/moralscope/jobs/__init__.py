"""Whole jobs: the only place where rooms meet. Doors call one job and render its run record."""
