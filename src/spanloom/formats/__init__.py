"""File formats: each module reads one format and writes it back.

The names below are those that formats of other packages build on (docs/extending.md).
"""

from spanloom.config.options import Options
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._document_builder import DocumentBuilder
from spanloom.formats._text import Line, blocks, lines
from spanloom.formats._word_view import WordView

__all__ = [
    "DocumentBuilder",
    "Format",
    "FormatError",
    "Line",
    "Losses",
    "Options",
    "WordView",
    "blocks",
    "lines",
]
