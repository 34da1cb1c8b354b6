"""Search over scores: no parameters, no documents."""
