"""Lines added at the end of files that other programs write, too."""
