"""Conversations: their files, the acts in them, and the audit of every turn."""
