"""What probing tasks ask of a sentence (Conneau et al. 2018, section 2; HMTL, table 6).

Each function returns the label of a sentence, or None where the task does not apply; those that
change a sentence return other words. Trees, tags and dependencies come from layers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from spanloom.annotation.trees import category
from spanloom.document import Document
from spanloom.tokenization import Tokenization

LENGTHS = ((5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28))  # words, both ends included
DEPTHS = range(5, 12)
_PRESENT, _PAST = ("VBP", "VBZ"), ("VBD",)
_NUMBERS = {"NN": "NN", "NNP": "NN", "NNS": "NNS", "NNPS": "NNS"}
_REPLACED = frozenset(("NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"))
_NAMES = frozenset(("NNP", "NNPS"))
_ALWAYS_CAPITAL = ("I", "I'm", "I've", "I'll", "I'd")
_WRAPPERS = frozenset(("ROOT", "TOP", ""))
_ALIKE = 10.0  # how many times as frequent a bigram may be as the one in whose place it stands

Node = tuple[int, int, str]  # first word, one past the last, label


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and, where the document has them, tags, heads with relations, and constituents.

    ``heads`` are indices of words, of the root its own. ``nodes`` are outermost first.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()
    heads: tuple[int, ...] = ()
    relations: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()

    @property
    def root(self) -> int | None:
        """The word that is its own head, None without a tree or with several roots."""
        roots = [word for word, head in enumerate(self.heads) if word == head]
        return roots[0] if len(roots) == 1 else None

    def children(self, word: int, *relations: str) -> list[int]:
        """Return the dependents of a word with one of these relations, subtypes included."""
        return [
            child
            for child, (head, relation) in enumerate(zip(self.heads, self.relations, strict=True))
            if head == word != child and relation.partition(":")[0] in relations
        ]


def sentences(document: Document, tokens: Tokenization) -> Iterator[Sentence]:
    """Yield the sentences of a document with its layers xpos, dependency and constituency.

    A sentence some of whose words lack a tag or a head has no tags or heads at all.
    """
    tags = _tags(document)
    heads = _heads(document)
    nodes = _nodes(document)
    for first, stop in tokens.sentences:
        bounds = [tuple(bound) for bound in tokens.words[first:stop]]
        words = tuple(document.text[start:end] for start, end in bounds)
        index = {start: word for word, (start, _) in enumerate(bounds)}
        ends = {end: word + 1 for word, (_, end) in enumerate(bounds)}
        own_tags = tuple(tags.get(start, "") for start, _ in bounds)
        own_heads = [heads.get(start, (-1, "")) for start, _ in bounds]
        is_parsed = all(head in index for head, _ in own_heads)
        yield Sentence(
            words,
            own_tags if all(own_tags) else (),
            tuple(index[head] for head, _ in own_heads) if is_parsed else (),
            tuple(relation for _, relation in own_heads) if is_parsed else (),
            tuple(
                (index[start], ends[end], label)
                for place in bounds
                for start, end, label in nodes.get(place[0], ())
                if end in ends
            ),
        )


def _tags(document: Document) -> dict[int, str]:
    """Return the tag of the word that starts at each offset."""
    spans = document.layer_or_empty("xpos").spans
    return {span.start: span.label for span in spans}


def _heads(document: Document) -> dict[int, tuple[int, str]]:
    """Return where the head of the word at each offset starts, and the relation."""
    tree = document.layer_or_empty("dependency")
    start_of = {span.id: span.start for span in tree.spans}
    return {
        start_of[relation.tail]: (start_of[relation.head], relation.label)
        for relation in tree.relations
    }


def _nodes(document: Document) -> dict[int, list[Node]]:
    """Return the constituents that start at each offset, in the order of the layer."""
    nodes: dict[int, list[Node]] = {}
    spans = document.layer_or_empty("constituency").spans
    for span in spans:
        if span.start < span.end:
            nodes.setdefault(span.start, []).append((span.start, span.end, span.label))
    return nodes


def sentence_length(sentence: Sentence) -> str | None:
    """SentLen: the bin of the number of words."""
    bins = (
        number for number, (low, high) in enumerate(LENGTHS) if low <= len(sentence.words) <= high
    )
    label = next(bins, None)
    return None if label is None else str(label)


def tree_depth(sentence: Sentence) -> str | None:
    """TreeDepth: the number of nodes on the longest way from the root to a word's tag."""
    if not sentence.nodes:
        return None
    covering = [0] * len(sentence.words)
    for start, end, _ in sentence.nodes:
        for word in range(start, end):
            covering[word] += 1
    depth = max(covering) + 1
    return str(depth) if depth in DEPTHS else None


def top_constituents(sentence: Sentence) -> str | None:
    """TopConst: the labels of the parts of the sentence's top clause, tags of words beside them."""
    whole = 0, len(sentence.words)
    chain = [label for start, end, label in sentence.nodes if (start, end) == whole]
    clause = [label for label in chain if category(label) not in _WRAPPERS]
    if len(clause) != 1 or not sentence.tags:  # no tree, or a chain that is no plain clause
        return None
    parts, word = [], 0
    inner = [node for node in sentence.nodes if (node[0], node[1]) != whole]
    while word < whole[1]:
        longest = max((node for node in inner if node[0] == word), key=_width, default=None)
        parts.append(sentence.tags[word] if longest is None else category(longest[2]))
        word = word + 1 if longest is None else longest[1]
    return "_".join(parts)


def _width(node: Node) -> int:
    return node[1] - node[0]


def tense(sentence: Sentence) -> str | None:
    """Tense: of the finite verb of the main clause, which is the root or one of its auxiliaries."""
    root = sentence.root
    if root is None or not sentence.tags:
        return None
    for word in (root, *sentence.children(root, "aux", "cop")):
        if sentence.tags[word] in _PRESENT:
            return "PRES"
        if sentence.tags[word] in _PAST:
            return "PAST"
    return None


def subject_number(sentence: Sentence) -> str | None:
    """SubjNum: of the only subject of the main clause, where that is a noun."""
    return _number(sentence, "nsubj")


def object_number(sentence: Sentence) -> str | None:
    """ObjNum: of the only direct object of the main clause, where that is a noun."""
    return _number(sentence, "obj")


def _number(sentence: Sentence, relation: str) -> str | None:
    root = sentence.root
    if root is None or not sentence.tags:
        return None
    nouns = sentence.children(root, relation)
    return _NUMBERS.get(sentence.tags[nouns[0]]) if len(nouns) == 1 else None


def word_content(sentence: Sentence, words: frozenset[str]) -> str | None:
    """WC: the only one of some words that the sentence has."""
    present = {word.lower() for word in sentence.words} & words
    return present.pop() if len(present) == 1 else None


def shifted_bigram(sentence: Sentence, rng: Random) -> tuple[str, ...] | None:
    """BShift: two neighbouring words, chosen at random, change places.

    The first word stays, as its capital letter would tell.
    """
    words = sentence.words
    places = [
        place
        for place, (one, two) in enumerate(pairwise(words))
        if place > 0 and one.isalpha() and two.isalpha() and one.lower() != two.lower()
    ]
    if not places:
        return None
    place = rng.choice(places)
    return (*words[:place], words[place + 1], words[place], *words[place + 2 :])


def inverted_coordination(sentence: Sentence) -> tuple[str, ...] | None:
    """CoordInv: the two clauses that a conjunction joins change places.

    Each has a subject, together they are the sentence, and both are single runs of words. The
    capital letter of the first word goes to the new first word, as it would tell.
    """
    root = sentence.root
    if root is None:
        return None
    clauses = [word for word in sentence.children(root, "conj") if sentence.children(word, "nsubj")]
    if len(clauses) != 1 or not sentence.children(root, "nsubj"):
        return None
    conjunctions = sentence.children(clauses[0], "cc")
    end = len(sentence.words) - (not sentence.words[-1].isalnum())
    if len(conjunctions) != 1 or not root < conjunctions[0] < clauses[0]:
        return None
    cut = conjunctions[0]
    second = _subtree(sentence, clauses[0]) - {cut}
    comma = sentence.words[cut - 1] == ","
    first_end = cut - comma
    if {*range(cut + 1, end)} - second or second - {*range(cut + 1, end), cut - 1, end}:
        return None
    words = sentence.words
    first = (_in_middle(words[0], sentence.tags[:1]), *words[1:first_end])
    last = (_capitalized(words[cut + 1]), *words[cut + 2 : end])
    return (*last, *words[first_end : cut + 1], *first, *words[end:])


def _capitalized(word: str) -> str:
    return word[:1].upper() + word[1:]


def _in_middle(word: str, tags: tuple[str, ...]) -> str:
    """Return the first word of a sentence as it is written elsewhere; ``tags`` are its own."""
    is_name = word in _ALWAYS_CAPITAL or word[1:] != word[1:].lower() or {*tags} & _NAMES
    return word if is_name else word[:1].lower() + word[1:]


def _subtree(sentence: Sentence, root: int) -> set[int]:
    """Return a word and all that depend on it."""
    subtree, queue = {root}, [root]
    while queue:
        head = queue.pop()
        for child, parent in enumerate(sentence.heads):
            if parent == head and child not in subtree:
                subtree.add(child)
                queue.append(child)
    return subtree


@dataclass(slots=True)
class Bigrams:
    """How often words follow each other, and which tags they have; both in lower case."""

    after: dict[str, dict[str, int]] = field(default_factory=dict)
    before: dict[str, dict[str, int]] = field(default_factory=dict)
    tags: dict[str, set[str]] = field(default_factory=dict)

    def add(self, sentence: Sentence) -> None:
        """Count the bigrams of a sentence, and note its tags."""
        words = [word.lower() for word in sentence.words]
        for one, two in pairwise(words):
            followers = self.after.setdefault(one, {})
            followers[two] = followers.get(two, 0) + 1
            leaders = self.before.setdefault(two, {})
            leaders[one] = leaders.get(one, 0) + 1
        for word, tag in zip(words, sentence.tags, strict=False):
            if tag in _REPLACED:
                self.tags.setdefault(word, set()).add(tag)


def odd_man_out(sentence: Sentence, bigrams: Bigrams, rng: Random) -> tuple[str, ...] | None:
    """SOMO: a noun or verb, chosen at random, is replaced by another of the same tag.

    The bigrams it forms are at most ten times as frequent as the ones before, or as rare.
    """
    places = [
        place
        for place in range(1, len(sentence.words) - 1)
        if sentence.tags and sentence.tags[place] in _REPLACED
    ]
    rng.shuffle(places)
    for place in places:
        previous, word, following = (w.lower() for w in sentence.words[place - 1 : place + 2])
        left, right = bigrams.after.get(previous, {}), bigrams.before.get(following, {})
        candidates = sorted(
            other
            for other in left.keys() & right.keys()
            if other != word
            and sentence.tags[place] in bigrams.tags.get(other, ())
            and _is_alike(left, word, other)
            and _is_alike(right, word, other)
        )
        if candidates:
            return (*sentence.words[:place], rng.choice(candidates), *sentence.words[place + 1 :])
    return None


def _is_alike(counts: Mapping[str, int], word: str, other: str) -> bool:
    """Return whether two counts are within a factor of each other."""
    one, two = counts.get(word, 1), counts[other]
    return max(one, two) <= _ALIKE * min(one, two)
