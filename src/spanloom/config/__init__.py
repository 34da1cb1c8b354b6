"""The recipe's frame, YAML with line numbers, typed options, the registry of parts."""
