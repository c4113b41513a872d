"""Doors: parse, call one job, render. No logic."""
