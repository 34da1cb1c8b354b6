"""The part of a recipe that says how raw text is split; plugins add choices."""

from typing import Annotated

from pydantic import AfterValidator, Field

from spanloom import plugins
from spanloom.config.options import Options


def _one_of(group: str, *builtin: str) -> AfterValidator:
    """Accept the names of built-in parts and of the parts of plugins."""

    def check(name: str) -> str:
        names = (*builtin, *plugins.names(group))
        if name not in names:
            raise ValueError(f"expected {', '.join(map(repr, names[:-1]))} or {names[-1]!r}")
        return name

    return AfterValidator(check)


class TokenizationSpec(Options):
    """How a text without given words is split into words and sentences."""

    tokenizer: Annotated[
        str, _one_of("tokenizers", "spacy", "treebank", "char-class", "whitespace")
    ] = Field(
        default="char-class",
        description="spacy | treebank | char-class | whitespace; given words stay",
    )
    sentence_splitter: Annotated[str, _one_of("sentence_splitters", "newline", "punctuation")] = (
        Field(default="newline", description="newline (each line is one) | punctuation")
    )
