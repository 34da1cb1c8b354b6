"""What annotations mean for models, apart from documents: no torch, no files."""
