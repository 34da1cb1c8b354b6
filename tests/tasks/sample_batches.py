"""Documents through a task without a network: text to batch, vectors of words, and back."""

from dataclasses import dataclass
from zlib import crc32

import torch
from tokenizers import Tokenizer, models, processors

from spanloom.annotation.text_pairs import TEXT_PAIR
from spanloom.annotation_ids import IdGenerator
from spanloom.config.specs import PIECES
from spanloom.data.collate import collate
from spanloom.data.instances import InstanceLimits, tokenize, tokenize_prompt
from spanloom.data.subwords import subword_tokenizer
from spanloom.document import MAIN
from spanloom.tasks import HeadInputSpec, TaskSetup, load, names
from spanloom.tensors import HeadInputs
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("char-class", "newline")
DIM, WIDTH = 16, 6  # of word vectors, and of the table of pieces
SMALL = {"hidden_size": 16, "dropout": 0.0}


def _forms(text):
    return [text[a:b] for a, b in SPLIT(text).words]


def _pieces():
    """Each word of a sample is a piece; a text stands between special ones."""
    known = {word for name in names() for word in _forms(load(name).example.text)}
    rows = {
        form: row for row, form in enumerate(["[PAD]", "[UNK]", "[SEP]", "[MASK]", *sorted(known)])
    }
    made = Tokenizer(models.WordLevel(rows, unk_token="[UNK]"))
    made.post_processor = processors.TemplateProcessing(
        single="[SEP] $A [SEP]", special_tokens=[("[SEP]", 2)]
    )
    return subword_tokenizer(made, padding=0, unknown=1, mask=3)


CUTTER = _pieces()


def cutter(text):
    return tokenize_prompt(text, SPLIT, CUTTER)


def train_of(documents):
    """Pair each document with its words, as kinds collect from them."""
    return [(each, tokenize(each, SPLIT, CUTTER)) for each in documents]


def layer_of(document):
    """The layer that a sample is gold for."""
    return next((each.name for each in document.layers if each.name != TEXT_PAIR), MAIN)


def make(kind, documents, biases=None, **options):
    """Make a task of that kind, its labels collected from the documents."""
    chosen = kind.options(**options)
    layer = layer_of(documents[0])
    collected = kind.infer_vocabulary(chosen, layer, train_of(documents))
    return kind.build(TaskSetup("task", layer, chosen, collected, collected, biases or {}))


def small(kind, documents):
    """Make a task whose head is small and never drops out."""
    known = kind.options.model_fields
    return make(kind, documents, **{key: SMALL[key] for key in SMALL if key in known})


@dataclass(frozen=True)
class Laid:
    """Some documents as one batch, and what is to be learnt in it."""

    units: tuple
    batch: object
    targets: object


def lay(task, documents, limit=100):
    """Cut documents into units, collate them, lay their gold beside."""
    cuts = [whole for _, whole in train_of(documents)]
    sizes = InstanceLimits(limit, limit * task.reader.max_windows)
    made = [
        unit
        for row, whole in enumerate(cuts)
        for unit in task.reader.instances(row, whole, sizes, cutter)
    ]
    gold = {row: task.encode_gold(each, cuts[row]) for row, each in enumerate(documents)}
    batch, hidden = task.mask_inputs(collate(made, CUTTER, limit), made, CUTTER, 0)
    return Laid(tuple(made), batch, hidden or task.collate_targets(made, gold))


def head_of(kind, task, seed=1):
    torch.manual_seed(seed)
    return task.build_head(HeadInputSpec(DIM, len(CUTTER.tokenizer.get_vocab()), WIDTH)).eval()


def vectors_of(kind, laid):
    """Vectors that follow from words and their places in documents, whatever stands beside them."""
    if kind.level == PIECES:
        torch.manual_seed(2)
        table = torch.randn(len(CUTTER.tokenizer.get_vocab()), WIDTH)
        return HeadInputs(torch.randn(laid.batch.input_ids.numel(), DIM), piece_embeddings=table)
    words = [
        f"{form} {unit.first_word + row}"
        for unit in laid.units
        for row, form in enumerate(unit.tokens)
    ]
    aside = laid.batch.prompt_layout
    openings = None
    if aside is not None and aside.cls_rows is not None:
        openings = _drawn([f"{unit.first_word} {unit.query} {unit.prompt}" for unit in laid.units])
    return HeadInputs(_drawn(words), openings)


def _drawn(said):
    made = [torch.Generator().manual_seed(crc32(each.encode())) for each in said]
    rows = [torch.randn(DIM, generator=each) for each in made]
    return torch.stack(rows) if rows else torch.zeros(0, DIM)


def learn(task, head, vectors, laid, steps=200):
    """Learn one batch by heart; returns the losses a thing learnt."""
    num_items = task.count_items(laid.batch, laid.targets)
    optimiser = torch.optim.Adam(head.train().parameters(), lr=0.02)
    for _ in range(steps):
        losses = task.loss(head, vectors, laid.batch, laid.targets)
        if all(each < 0.004 * num_items for each in losses.values()):
            break
        optimiser.zero_grad()
        sum(each for each in losses.values()).backward()
        torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        optimiser.step()
    head.eval()
    return {name: each.item() / num_items for name, each in losses.items()}


@torch.no_grad()
def predict(task, head, laid, documents, vectors):
    """Predict a batch and lead it back to characters: a document for each."""
    cuts = [whole for _, whole in train_of(documents)]
    told = {row: task.encode_given(each, cuts[row]) for row, each in enumerate(documents)}
    known = any(each is not None for each in told.values())
    given = task.collate_targets(laid.units, told) if known else None
    found = [[] for _ in documents]
    answers = task.predict(head, vectors, laid.batch, laid.units, given)
    for unit, each in zip(laid.units, answers, strict=True):
        found[unit.document].append((unit, each))
    return [
        document.unannotated((TEXT_PAIR,)).with_layer(task.to_layer(document, mine, IdGenerator()))
        for document, mine in zip(documents, found, strict=True)
    ]
