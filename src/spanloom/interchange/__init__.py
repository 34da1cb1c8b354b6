"""Documents as other libraries hold them: spaCy, displaCy, pandas, Hugging Face datasets.

Each library is imported when its function is called.
"""
