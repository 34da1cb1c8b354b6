"""What coreference of given mentions has to beat: each document's mentions in one chain.

    python benchmarks/one_chain.py DIR/scierc [--split test] [--layer coreference]

The score is the CoNLL average.
"""

import argparse
from itertools import pairwise
from pathlib import Path

from spanloom.corpora import folder
from spanloom.document import Document, Layer, Relation
from spanloom.metrics import clusters


def one_chain(document: Document, name: str) -> Document:
    """Return the document with each mention of a layer linked to the one before it."""
    spans = sorted(document[name].spans, key=lambda span: (span.start, span.end))
    bare = document.with_layer(Layer(name, tuple(spans)))
    new_id = bare.id_generator()
    links = tuple(
        Relation(new_id("R"), "coref", mention.id, antecedent.id)
        for antecedent, mention in pairwise(spans)
    )
    return bare.with_layer(Layer(name, tuple(spans), links))


def main() -> None:
    """Print the score of a split."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--split", default="test")
    parser.add_argument("--layer", default="coreference")
    given = parser.parse_args()
    gold = folder.read(given.corpus, given.split).documents
    chained = [one_chain(document, given.layer) for document in gold]
    average = clusters.score(gold, chained, given.layer).clusters.average
    print(f"{given.corpus.name}, {given.split}, one chain a document: {100 * average:.2f}")


if __name__ == "__main__":
    main()
