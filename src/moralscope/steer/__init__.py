"""Steering encoders: remove a direction or teach the moral one, and see what else moved."""
