"""Embedders: words in, one vector a word out."""
