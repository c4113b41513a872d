"""Exchanges from files, and texts under audit made fit for models."""
