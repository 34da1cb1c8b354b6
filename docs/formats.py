"""Write docs/formats.md: each format with its description, options and example.

Example: python docs/formats.py
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Literal, get_args, get_origin

from spanloom.formats import _files
from spanloom.formats._base import Format

HEAD = """# Formats

`spanloom convert IN OUT` reads and writes all formats on this page; `spanloom check`, `train` and
`init` read them. The format is guessed from the file, and the command says which one it is.
`--from` and `--to` name a format; `--reader-option KEY=VALUE` and `--writer-option KEY=VALUE` set
its options (lists: `"columns=[word, entities]"`; mappings: `"schemes={entities: BIO}"`). The
command counts and reports what the target format cannot hold; with `--strict` it then exits with 1.
If a format needs words and a document has none, the tokenizer `char-class` and the sentence
splitter `punctuation` are used. `columns` without options writes the words and one column per
layer.

Corpora are stored in brat (folders of `.txt` and `.ann`). It holds everything but scores; a span
that crosses a line end has one fragment per line ([brat](#brat)).

Text files are UTF-8. `--encoding latin-1` (of `check`, `train`, `init`, `annotate`, `evaluate`,
`convert`, `view`) reads others; in a recipe the key is `encoding`. `spanloom check` goes on after a
file in another encoding, and says which one it is. JSON lines are UTF-8 whatever the option says.

`--workers N` of `convert` and `check` reads, converts and checks documents of a brat folder, and
lines of JSON, in N processes; by default these are the cores that other programs leave free if
there are more than 20 MB to read, else one. Below 2 MB no process is started. Output, messages and
exit codes are those of one process. Only if a document cannot be read or written, some that follow
it may already be in a brat folder OUT. Files of other formats are read as a whole.

In Python each format but brat is a module of `spanloom.formats` with `loads(text)` and
`dumps(documents)` (bytes for `docbin`). A folder or file of any format, brat too, is read by
`spanloom.corpora.folder.read(Path("mydata"), "train").documents` (the split is `all` where there
are none); `spanloom.formats.brat.save.save(document, Path("out"))` writes brat. The layer
`words` has the words that the file gives, and `sentences` its sentences; each layer of
annotation has its own spans. Files of doccano, dygie and prodigy hold one layer of spans,
`entities`. If a document has no such layer and only one layer with spans, that one is written as
`entities`.

Exports of annotation tools: [doccano](#doccano), [Label Studio](#labelstudio), [Prodigy](#prodigy),
[WebAnno and INCEpTION](#webanno_tsv), [PubTator](#pubtator). Words with tags: [columns](#columns).
Treebanks: [CoNLL-U](#conllu), [brackets](#trees). CSV and TSV: [table](#table). Questions:
[SQuAD](#squad). One document a line, with everything: [jsonl](#jsonl).
"""


BRAT = """
## brat

A folder of documents, with subfolders: `NAME.txt` with `NAME.ann`, or with `.a1`, `.a2`, `.rel` and
`.co` where there is no `.ann`. A document's name is its path without `.txt`. `NAME.words` has given
words and sentences, `NAME.queries` questions; both are our own, and brat ignores them. A text is
annotated in the layers that its annotations show; an empty `.ann` says that there is nothing in
`main`. What `annotate` writes names all layers in `NAME.words`, so a layer whose predictions people
delete counts as annotated, and training learns from it that there is nothing.

* **Read:** spans (`T`), also of several fragments, relations (`R`), equivalences (`*`), events
  (`E`), attributes (`A`, `M`), normalizations (`N`) and notes (`#`). A type `layer__Label` belongs
  to that layer, any other to `main`. Offsets count code points; if they fit the texts of spans only
  in UTF-16 units, bytes, or with line ends counted as one, they are read so.
* **Kept:** every raw line. What was not changed is written back byte for byte, in its order, with
  its line ends and its unit of offsets. Lines that cannot be read are kept too and are listed as
  problems, with file, line and what was expected.
* **Written:** new annotations get ids that no line uses or mentions. A span that crosses a line end
  has a fragment per line, as brat wants it. Scores have no place in brat. A file that changed on
  disk since it was read is not replaced. `annotate --in-place` only adds lines.
* **`annotation.conf`** has the types, for brat to open the folder. A folder that is written from
  another brat folder gets that folder's file as it is, with comments, macros and constraints; types
  that it lacks are added at the end of their section. Without one it is made of the documents:
  types, the roles of events and the types that fill them, values of attributes. A file that is
  there already is never changed. `spanloom check` lists its first mistake, with its line, or types
  of the documents that it does not declare; one with a mistake is not taken along.

````text
T1	Action 0 3	Add
T2	Amount 4 8	5 ml
T3	Verb 10 14;18 20	look up
E1	Action:T1 Amount:T2
R1	Before Arg1:T1 Arg2:T3
A1	Certain E1
#1	AnnotatorNotes T3	a phrasal verb
````
"""


def page() -> str:
    """Return the page."""
    sections = {name: section(name) for name in _files.names()} | {_files.BRAT: BRAT}
    return HEAD + "".join(sections[name] for name in sorted(sections))


def section(name: str) -> str:
    """Return the section of one format."""
    form = _files.load(name)
    docstring = (import_module(f"spanloom.formats.{name}").__doc__ or "").strip()
    description = docstring.replace("\n::\n\n", "\n")  # Markdown needs indentation alone
    facts = [f"Files end in {', '.join(f'`{suffix}`' for suffix in form.suffixes)}."]
    facts += [
        f"Companion file: `{key}`, by default `{file}`." for key, file in form.sidecars.items()
    ]
    for key, field in form.options.model_fields.items():
        choices = getattr(form.options, "presets", {}) if key == "preset" else {}
        values = [" | ".join(choices or _choices(field.annotation)), f"default `{field.default!r}`"]
        allowed = "; ".join(value for value in values if value)
        facts.append(f"Option `{key}`: {field.description or ''} ({allowed})")
    listed = "\n".join(f"* {fact}" for fact in facts)
    return f"\n## {name}\n\n{description}\n\n{listed}\n{sample(form)}"


def _choices(annotation: object) -> list[str]:
    """Return the values that a type lists, as its own or those of its items."""
    parts = get_args(annotation)
    if get_origin(annotation) is Literal:
        return [part for part in parts if isinstance(part, str)]
    return [choice for part in parts for choice in _choices(part)]


def sample(form: Format) -> str:
    """Return a format's example as a code block; binary examples are not shown."""
    if form.binary:
        return ""
    texts = form.example if form.sidecars else {"": form.example}
    return "".join(f"\n````text\n{_plain(text)}\n````\n" for text in texts.values())


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").rstrip()


if __name__ == "__main__":
    place = Path(__file__).with_name("formats.md")
    place.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"written to {place}\n")
