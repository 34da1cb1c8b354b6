"""Official scorers: their files in, their numbers out. A file here is a metric's name."""
