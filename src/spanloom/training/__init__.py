"""The loop, its stages, optimisers and checkpoints."""
