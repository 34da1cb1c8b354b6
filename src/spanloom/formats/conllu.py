"""Read and write CoNLL-U, the files of Universal Dependencies, with GUM's and CorefUD's entities.

| file | document |
|---|---|
| ``# newdoc`` | a document; in a file without any, each sentence is a document |
| words, ``SpaceAfter=No``, ``# text`` | text, layers ``words`` and ``sentences`` |
| comments | attributes of the sentence, in order; ``text`` has no value if it equals the text |
| ``2-3`` | layer ``tokens``: ``form`` if it is not its joined words, cells as attributes |
| LEMMA, FEATS, MISC | attributes of the word |
| UPOS, XPOS | layers ``upos``, ``xpos``: one span per word |
| HEAD, DEPREL | layer ``dependency``: relations from head to dependent; a root's goes to itself |
| DEPS, ``8.1`` | layer ``enhanced``: the same; an empty node is a span of width 0 |
| ``Entity``, ``Bridge``, ``SplitAnte`` | layers ``entities``, ``coreference``, ``named`` |

A column that is ``_`` throughout a document makes no layer. See
https://universaldependencies.org/format.html.
"""

import re
from collections.abc import Iterable, Iterator

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import Document
from spanloom.formats._base import Format
from spanloom.formats._conllu import COLUMNS, Part, lay, parts
from spanloom.formats._conllu_layers import add, add_multiword_tokens, create_layers
from spanloom.formats._conllu_rows import blocks, mark
from spanloom.formats._mentions import Reader, header
from spanloom.formats._mentions_rows import tell
from spanloom.formats._word_view import WordView


class Columns(Options):
    """Options: what is read, and how it is written."""

    entities: bool = Field(
        default=True,
        description="read Entity= in MISC as layers, where global.Entity says what it holds",
    )
    add_sent_metadata: bool = Field(
        default=False,
        description="write sent_id and text of sentences that have none, as UD asks for",
    )
    infer_mwt: bool = Field(
        default=False,
        description="write a token over English words that contract (don't) where none is said",
    )


def loads(text: str, *, path: str = "<string>", options: Columns = Columns()) -> Iterator[Document]:
    """Yield the documents of a file; raises ``FormatError`` with the line."""
    entity_fields: str | None = None
    for part in parts(text, path, COLUMNS):
        entity_fields = header(part, entity_fields) if options.entities else None
        yield _document(part, entity_fields, path)


def dumps(documents: Iterable[Document], *, options: Columns = Columns()) -> str:
    """Return the file; annotations that no cell can hold are left out."""
    written = []
    entity_fields: str | None = None
    for document in documents:
        view = WordView(add_multiword_tokens(document) if options.infer_mwt else document)
        sentence_blocks = blocks(view)
        entity_fields = tell(view, sentence_blocks, entity_fields) if options.entities else None
        written.append((document, sentence_blocks))
    mark(written, options.add_sent_metadata)
    sentences = (block for _, sentence_blocks in written for block in sentence_blocks)
    return "".join("\n".join(block.lines(0)) + "\n\n" for block in sentences)


def _document(part: Part, entity_fields: str | None, path: str) -> Document:
    """Return one document.

    ``entity_fields`` are the fields of mentions that ``global.Entity`` lists, None if mentions are
    not read.
    """
    builder = part.builder
    annotated_columns = create_layers(part)
    reader = Reader(builder, entity_fields.split("-"), path) if entity_fields else None
    for sentence in part.sentences:
        lay(builder, sentence)
        mention_items = reader.sentence(sentence) if reader else {}
        add(builder, sentence, annotated_columns, mention_items, path)
    return builder.build()


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the first row: ten columns, the first an id, the seventh a head."""
    for line in head.split("\n"):
        if line.strip() and not line.startswith("#"):
            cells = line.rstrip("\r").split("\t")
            is_first_word = re.fullmatch(r"1(?:-[0-9]+)?|0\.1", cells[0]) and "" not in cells
            return (
                bool(is_first_word)
                and len(cells) == 10
                and re.fullmatch(r"[0-9]+|_", cells[6]) is not None
            )
    return False


_EXAMPLE = """\
# newdoc id = sample
# global.Entity = GRP-etype-infstat-salience-centering-minspan-link-identity
# sent_id = sample-1
# text = I don't like Ada's tea.
1\tI\tI\tPRON\tPRP\tCase=Nom|Number=Sing\t4\tnsubj\t4:nsubj\tEntity=(1-person-new-nnnnn-cf1-1-sgl)
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t4:aux\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t4:advmod\t_
4\tlike\tlike\tVERB\tVB\tVerbForm=Inf\t0\troot\t0:root\t_
5-6\tAda's\t_\t_\t_\t_\t_\t_\t_\t_
5\tAda\tAda\tPROPN\tNNP\t_\t7\tnmod:poss\t7:nmod:poss\tBridge=3<2|Entity=(2-object-new-nnnnn-cf2-3-sgl\
(3-person-new-nnnnn-cf3-1-coref-Ada_Lovelace)
6\t's\t's\tPART\tPOS\t_\t5\tcase\t5:case\tTypo=No
7\ttea\ttea\tNOUN\tNN\t_\t4\tobj\t4:obj\tEntity=2)|SpaceAfter=No
8\t.\t.\tPUNCT\t.\t_\t4\tpunct\t4:punct\t_

# newpar
# sent_id = sample-2
# text = She does.
1\tShe\tshe\tPRON\tPRP\t_\t2\tnsubj\t2:nsubj|2.1:nsubj\tEntity=(3-person-giv:act-nnnnn-cf1-1-ana)
2\tdoes\tdo\tAUX\tVBZ\t_\t0\troot\t0:root\tSpaceAfter=No
2.1\tlike\tlike\tVERB\tVB\tVerbForm=Inf\t_\t_\t2:dep\tCopyOf=4
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t2:punct\t_

"""

KIND = Format(loads, dumps, _sniff, (".conllu",), _EXAMPLE, Columns)
