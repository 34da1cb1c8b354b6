"""How files spell documents: each file here reads one format and writes it back."""
