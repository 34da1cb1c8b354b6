"""What labels mean: one file a kind of task, no parameters."""
