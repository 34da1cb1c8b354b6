"""File formats: each module reads one format and writes it back.

The names below are those that formats of other packages build on (docs/extending.md).
"""

from spanloom.config.options import Options
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._document_builder import DocumentBuilder, Names
from spanloom.formats._files import (
    BRAT,
    guess,
    load,
    names,
    read,
    suffixes,
    validate_format_options,
    write,
)
from spanloom.formats._json import line_at
from spanloom.formats._text import Line, blocks, lines
from spanloom.formats._word_view import WordView

__all__ = [
    "BRAT",
    "DocumentBuilder",
    "Format",
    "FormatError",
    "Line",
    "Losses",
    "Names",
    "Options",
    "WordView",
    "blocks",
    "guess",
    "line_at",
    "lines",
    "load",
    "names",
    "read",
    "suffixes",
    "validate_format_options",
    "write",
]
