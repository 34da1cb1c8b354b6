"""Official scorers: they read the official file formats and return the official numbers.

Each module is named after its metric.
"""
