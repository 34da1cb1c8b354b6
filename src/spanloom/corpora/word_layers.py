"""Make layers with a label per word of layers of spans, as taggers of single words learn them.

::

    words       Have  a   mechanic  check  out  .       weak: Have … check out, strong: check out
    mwe-flags   B     o   o         I~     I_           lower case is in a gap
    mwe-tags    B                   I      I            the three labels of Changpinyo et al. (2018)
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from spanloom.annotation.multiword_expressions import OUTSIDE, ExpressionError, Expressions, flags
from spanloom.annotation_ids import IdGenerator
from spanloom.corpora.card import Derived
from spanloom.document import Document, Layer, Span
from spanloom.formats._mwe_layers import Lexicon
from spanloom.formats._word_view import WordView

WordLabels = Iterator[tuple[int, str]]  # the index of a word among the document's, and its label


def word_layer(document: Document, name: str, rule: Derived, new_id: IdGenerator) -> Layer:
    """Return a layer with a span over each word that a rule labels, in text order.

    Of several labels of a word the first one counts.
    """
    view = WordView(document)
    labels: dict[int, str] = {}
    for word, label in _LABELERS[rule.words](view, rule):
        labels.setdefault(word, label)
    if rule.outside:
        labels = {**dict.fromkeys(range(len(view.words.words)), rule.outside), **labels}
    bounds = view.words.words
    spans = (Span(new_id("T"), labels[word], (bounds[word],)) for word in sorted(labels))
    return Layer(name, tuple(spans))


def _inside(view: WordView, rule: Derived) -> WordLabels:
    """Yield every word that lies in a span, a span's words together."""
    for words, label in _spans(view, rule):
        yield from ((word, label) for word in words)


def _first(view: WordView, rule: Derived) -> WordLabels:
    """Yield the first word of each span."""
    for words, label in _spans(view, rule):
        yield words[0], label


def _spans(view: WordView, rule: Derived) -> Iterator[tuple[list[int], str]]:
    """Yield the words and the label of each span that has words, in text order."""
    words = view.words.words
    starts = [start for start, _ in words]
    for span in sorted(view.document[rule.layer].spans, key=lambda span: (span.start, span.end)):
        inside = [
            word
            for start, end in sorted(span.fragments)
            for word in range(bisect_left(starts, start), bisect_left(starts, end))
            if words[word][1] <= end
        ]
        if inside and span.label not in rule.exclude:
            yield inside, rule.label or span.label


def _expression_flags(view: WordView, rule: Derived) -> WordLabels:
    """Yield the flags of multiword expressions, with their gaps and strengths."""
    sentences = zip(Lexicon(view).sentences(), view.words.sentences, strict=True)
    for expressions, (first, end) in sentences:
        sentence_flags = enumerate(_flags(expressions, end - first), first)
        yield from ((word, flag) for word, flag in sentence_flags if flag != OUTSIDE)


def _flags(expressions: Expressions, num_words: int) -> Sequence[str]:
    """Return the flags of a sentence; where they cannot hold all, those of strong ones, or none."""
    for weak in (expressions.weak, ()):
        try:
            return flags(num_words, expressions.strong, weak)
        except ExpressionError:
            continue
    return [OUTSIDE] * num_words


def _expression_tags(view: WordView, rule: Derived) -> WordLabels:
    """Yield B for the first word of each expression and I for its others, but none for gaps."""
    for word, flag in _expression_flags(view, rule):
        if flag.upper() != OUTSIDE:
            yield word, flag[0].upper()


_LABELERS: dict[str, Callable[[WordView, Derived], WordLabels]] = {
    "inside": _inside,
    "first": _first,
    "mwe-flags": _expression_flags,
    "mwe-tags": _expression_tags,
}
