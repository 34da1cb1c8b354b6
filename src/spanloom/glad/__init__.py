"""Open GLAD: runs of recipes on prepared datasets, and the leaderboard of their results."""
