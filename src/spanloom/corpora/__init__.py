"""Corpora: splits, reading, dataset preparation, statistics, and the oracle score of a model."""
