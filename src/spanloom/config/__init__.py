"""The recipe's frame, and YAML that knows its line numbers."""
