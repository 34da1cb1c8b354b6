"""Worker processes on this machine, or on a Ray cluster, that answer jobs; no job is lost."""
