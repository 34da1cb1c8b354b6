"""Draw documents as HTML, SVG and text tables."""
