"""Decoders without parameters: from scores to the best tags, trees, spans and clusters."""
