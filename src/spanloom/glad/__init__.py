"""Open GLAD: runs of recipes on prepared datasets, and the board of what they reached."""
