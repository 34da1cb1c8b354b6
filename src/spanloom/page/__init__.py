"""Documents drawn as HTML, SVG and text tables."""
