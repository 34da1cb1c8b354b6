"""Spanloom: one model for every kind of text annotation, as labelled spans and relations."""
