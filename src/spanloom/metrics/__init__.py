"""Score predicted documents against gold documents: no torch."""
