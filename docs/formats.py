"""Write docs/formats.md: every format, what it is, its options and its sample.

Example: python docs/formats.py
"""

import sys
from importlib import import_module
from pathlib import Path

from spanloom.formats import _files
from spanloom.formats._base import Format

HEAD = """# Formats

`spanloom convert IN OUT` reads and writes all of them; `spanloom check`, `train` and `init` read
them too. A format is guessed from the file, and said; `--from` and `--to` name one, `--read
KEY=VALUE` and `--write KEY=VALUE` set its options (lists: `"columns=[word, entities]"`). What a
format has no place for is counted and said; with `--strict` it makes the exit code 1. brat (folders
of `.txt` and `.ann`) is the format of corpora: it holds everything but scores, and parts spans
where a line ends. `--read encoding=latin-1` reads brat files that are not UTF-8. Formats of words
get the splitter `fine` and sentences by rules where a document gives none, and `columns` a column
for each layer that there is.
In Python each is a module of `spanloom.formats` with `loads(text)` and `dumps(documents)`.

Given words stand in the layer `words`, sentences in `sentences`; every layer of annotation has
spans of its own. This page is made by `python docs/formats.py`.
"""


def page() -> str:
    """Return the page."""
    return HEAD + "".join(section(name) for name in _files.names())


def section(name: str) -> str:
    """Return what is said of one format."""
    form = _files.load(name)
    said = (import_module(f"spanloom.formats.{name}").__doc__ or "").strip()
    facts = [f"Files end in {', '.join(f'`{each}`' for each in form.suffixes)}."]
    facts += [f"Beside it: `{key}`, usually `{file}`." for key, file in form.beside.items()]
    for key, field in form.options.model_fields.items():
        facts.append(f"Option `{key}`: {field.description or ''} (usually `{field.default!r}`)")
    listed = "\n".join(f"* {each}" for each in facts)
    return f"\n## {name}\n\n{said}\n\n{listed}\n{sample(form)}"


def sample(form: Format) -> str:
    """Return a format's sample as a block; bytes are not shown."""
    if form.binary:
        return ""
    texts = form.sample if form.beside else {"": form.sample}
    return "".join(f"\n````text\n{_plain(text)}\n````\n" for text in texts.values())


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").rstrip()


if __name__ == "__main__":
    place = Path(__file__).with_name("formats.md")
    place.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"written to {place}\n")
