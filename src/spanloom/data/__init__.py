"""Documents to tensors: pieces, windows, candidates, batches."""
