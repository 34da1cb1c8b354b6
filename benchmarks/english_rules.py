"""Write the rules of spaCy's English tokenizer, as installed, to src/spanloom/english_words.json.

    python benchmarks/english_rules.py

A test holds the file against the installed spaCy.
"""

import json
from pathlib import Path
from typing import Any

import spacy
from spacy.pipeline import Sentencizer

PATH = Path(__file__).parents[1] / "src/spanloom/english_words.json"
LICENSE = "From spaCy, https://spacy.io, MIT License, Copyright (C) 2016-2024 ExplosionAI GmbH"


def rules() -> dict[str, Any]:
    """Return the patterns, the words split by exception with the lengths of their parts, and the
    characters that end sentences.
    """
    tokenizer = spacy.blank("en").tokenizer
    searches = {
        "prefix": tokenizer.prefix_search,
        "suffix": tokenizer.suffix_search,
        "infix": tokenizer.infix_finditer,
        "url": tokenizer.url_match,
    }
    if tokenizer.token_match is not None:
        raise SystemExit("spaCy's English tokenizer has a token_match now: english_words lacks it")
    return {
        "license": LICENSE,
        **{name: search.__self__.pattern for name, search in searches.items()},
        "exceptions": {
            word: [len(part[spacy.symbols.ORTH]) for part in parts]
            for word, parts in sorted(tokenizer.rules.items())
            if not word.isspace()
        },
        "sentence_enders": "".join(sorted(Sentencizer.default_punct_chars)),
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps(rules(), ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    print(f"written to {PATH}")
