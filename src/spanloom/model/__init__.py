"""Trunk, levels and heads put together; saved, loaded, and used on text."""
