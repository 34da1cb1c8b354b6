"""Convert documents to and from other libraries: spaCy, displaCy, pandas, Hugging Face datasets.

Each library is imported when its function is called.
"""
