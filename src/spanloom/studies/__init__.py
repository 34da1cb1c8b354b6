"""Studies: many runs of one recipe, planned by designs and compared in a report."""
