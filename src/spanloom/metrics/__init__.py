"""How good: document against document, no torch."""
