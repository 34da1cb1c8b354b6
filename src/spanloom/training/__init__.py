"""The training loop, its stages, optimisers and checkpoints."""
