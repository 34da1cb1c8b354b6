"""File formats: each module reads one format and writes it back."""
