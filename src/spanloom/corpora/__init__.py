"""Folders of documents: splits, reading, and what a model can reach in them."""
