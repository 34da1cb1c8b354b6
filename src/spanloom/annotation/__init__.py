"""Pure transformations of annotations: no torch, no files."""
