r"""Read and write WebAnno TSV 3, the export of WebAnno and INCEpTION.

::

    #FORMAT=WebAnno TSV 3.3
    #T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value
    #T_RL=webanno.custom.Link|type|BT_de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity

    #Text=Ada Lovelace wrote .
    1-1	0-3	Ada	*[1]	PER[1]	_	_
    1-2	4-12	Lovelace	*[1]	PER[1]	_	_

A file is a document; several in one file begin with ``#FORMAT`` each. Each span type is a layer
with the last part of its name (``NamedEntity``). The label of an annotation is its feature
``value``, ``PosValue``, ``DependencyType`` or ``type``, else the first one but ``identifier``, else
the name of the type; the other features are attributes. A relation is in the layer of its ends,
from the source (the governor) to the target, on whose row it stands; the attribute ``relation``
names its type where a layer has several. A chain is a layer of mentions, each related to the one
before it. Slots (``ROLE_``) are read as attributes, as they are written, and not written. Offsets,
which count UTF-16 units, are checked against the text. Words, and parts of words, are the units of
spans; a span without any is not written. Other lines of the header are kept in meta, those of a
sentence as its attributes.
"""

from collections.abc import Iterable, Iterator

from spanloom.config.options import Options
from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._text import Line, lines
from spanloom.formats._webanno_reader import read_document
from spanloom.formats._webanno_schema import FORMAT
from spanloom.formats._webanno_text import Gaps
from spanloom.formats._webanno_writer import write_document

_ANY_VERSION = FORMAT.removesuffix("3")  # the reader tells that it reads 3 alone


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError`` with the line."""
    block: list[Line] = []
    gaps = Gaps(text)
    number = 0
    for line in lines(text.removeprefix("\ufeff")):
        if line.text.startswith(FORMAT):
            if block:
                number += 1
                yield read_document(block, number, path, gaps)
            block = [line]
        elif block:
            block.append(line)
        elif line.text.strip():
            expected = f"expected {FORMAT}, got {line.text!r:.60}"
            raise FormatError(path, line.number, expected)
    if block:
        yield read_document(block, number + 1, path, gaps)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the documents, one after the other."""
    return "\n".join(write_document(document) for document in documents)


KIND = Format(
    loads,
    dumps,
    lambda head, name: head.removeprefix("\ufeff").startswith(_ANY_VERSION),
    (".tsv",),
    """#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value
#T_SP=webanno.custom.Odd|
#T_CH=de.tudarmstadt.ukp.dkpro.core.api.coref.type.CoreferenceLink|referenceRelation|referenceType
#T_RL=webanno.custom.Knows|since|BT_de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity


#Text=Ada Lovelace met Bob 😀 .
1-1\t0-3\tAda\t*[1]|*[2]\tPER[1]|writer\\_x[2]\t_\t*->1-1[3]\tnam[3]\t_\t_\t
1-2\t4-12\tLovelace\t*[1]\tPER[1]\t_\t*->1-1[3]\tnam[3]\t_\t_\t
1-3\t13-16\tmet\t_\t_\t*\t_\t_\t_\t_\t
1-4\t17-20\tBob\tQ1\tPER\t_\t_\t_\t1843|*\t1-1[1_0]|1-1[2_0]\t
1-5\t21-23\t😀\t_\t_\t_\t_\t_\t_\t_\t
1-6\t24-25\t.\t_\t_\t_\t_\t_\t_\t_\t

#Sentence.id=two
#Text=Did she ?
2-1\t26-29\tDid\t_\t_\t_\t_\t_\t_\t_\t
2-1.1\t26-28\tDi\t_\t_\t*\t_\t_\t_\t_\t
2-2\t30-33\tshe\t_\t_\t_\tana->1-2\tpro\t_\t_\t
2-3\t34-35\t?\t_\t_\t_\t_\t_\t_\t_\t
""",
)
