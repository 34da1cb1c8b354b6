"""flair: entities first, then a relation or none for each ordered pair of them (as PURE, DyGIE do).

    python benchmarks/peers/flair_pairs.py WORK/conll04 -o WORK/flair-conll04

Two fine-tuned encoders, one a model: SequenceTagger with a linear layer, then RelationExtractor on
the first and last word of both spans, trained on gold entities and run on found ones.
"""

import logging
from collections.abc import Sequence, Set
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import flair  # type: ignore[import-not-found]
import torch
from exchange import Sentence, apart, minilm
from flair.data import Corpus, Relation  # type: ignore[import-not-found]
from flair.data import Sentence as Words
from flair.data import Span as Piece
from flair.datasets import FlairDatapointDataset  # type: ignore[import-not-found]
from flair.embeddings import TransformerWordEmbeddings  # type: ignore[import-not-found]
from flair.models import RelationExtractor, SequenceTagger  # type: ignore[import-not-found]
from flair.trainers import ModelTrainer  # type: ignore[import-not-found]
from precision import mixed
from tries import Data, Settings, Trained, parser, run

ENTITY, RELATION = "ner", "relation"
NONE = "O"  # what flair calls a pair without a relation
AT_ONCE = 32


def sentence_of(said: Sentence) -> Words:
    """Return flair's sentence, without spans that overlap a longer one and their relations."""
    sentence = Words(list(said.words))
    pieces: dict[tuple[int, int], Piece] = {}
    for start, end, label in apart(said.spans or ()):
        pieces[start, end] = sentence[start:end]
        pieces[start, end].add_label(ENTITY, label)
    ends = groupby(sorted(said.relations or ()), key=lambda each: (each[0][:2], each[1][:2]))
    for (head, tail), same in ends:  # of several labels on a pair the first: flair says one
        if head in pieces and tail in pieces and head != tail:
            Relation(pieces[head], pieces[tail]).add_label(RELATION, next(same)[2])
    return sentence


def said_of(known: Sentence, sentence: Words) -> Sentence:
    """Return the sentence with what flair found."""
    spans = tuple(_span(each) for each in sentence.get_spans(ENTITY))
    relations = tuple(
        (_span(each.first), _span(each.second), each.get_label(RELATION).value)
        for each in sentence.get_relations(RELATION)
    )
    return replace(known, spans=spans, relations=relations)


def _span(piece: Piece) -> tuple[int, int, str]:
    return piece[0].idx - 1, piece[-1].idx, piece.get_label(ENTITY).value


class Annotator:
    """Both models, one after the other."""

    def __init__(self, tagger: SequenceTagger, extractor: RelationExtractor, *, bf16: bool) -> None:
        """Keep both for use."""
        self.parts = tagger, extractor
        self.bf16 = bf16

    def __call__(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Annotate sentences; flair sorts them by length itself."""
        found = [Words(list(each.words)) for each in sentences]
        tagger, extractor = self.parts
        with mixed(bf16=self.bf16):
            tagger.predict(found, mini_batch_size=AT_ONCE, label_name=ENTITY)
            extractor.predict(found, mini_batch_size=AT_ONCE, label_name=RELATION)
        return [said_of(*pair) for pair in zip(sentences, found, strict=True)]


def figure(gold: Sequence[Sentence], found: Sequence[Sentence]) -> float:
    """Return the mean of both F1, by which the rate is chosen."""
    spans = [(set(a.spans or ()), set(b.spans or ())) for a, b in zip(gold, found, strict=True)]
    pairs = [
        (set(a.relations or ()), set(b.relations or ())) for a, b in zip(gold, found, strict=True)
    ]
    return (_f1(spans) + _f1(pairs)) / 2


def _f1(sides: Sequence[tuple[Set[object], Set[object]]]) -> float:
    both = sum(len(a) + len(b) for a, b in sides)
    return 2 * sum(len(a & b) for a, b in sides) / both if both else 0.0


def train(data: Data, settings: Settings) -> Trained:
    """Fine-tune both with flair's own recipe for transformers; the best epoch on dev is loaded."""
    torch.set_num_threads(1)
    flair.device = torch.device("cpu")
    flair.set_seed(settings.seed)
    logging.getLogger("flair").setLevel(logging.WARNING)
    train, dev = ([sentence_of(each) for each in part] for part in (data.train, data.dev))
    corpus = Corpus(
        FlairDatapointDataset(train), FlairDatapointDataset(dev), sample_missing_splits=False
    )
    tagger = SequenceTagger(
        embeddings=_encoder(),
        tag_dictionary=corpus.make_label_dictionary(ENTITY, add_unk=False),
        tag_type=ENTITY,
        use_rnn=False,
        use_crf=False,
        reproject_embeddings=False,
    )
    relations = corpus.make_label_dictionary(RELATION)
    relations.add_item(NONE)
    pairs = {(head[2], tail[2]) for each in data.train for head, tail, _ in each.relations or ()}
    extractor = RelationExtractor(
        embeddings=_encoder(),
        label_dictionary=relations,
        label_type=RELATION,
        entity_label_type=ENTITY,
        entity_pair_filters=sorted(pairs),
    )
    for name, model in ((ENTITY, tagger), (RELATION, extractor)):
        _fine_tune(model, corpus, data.scratch / f"{name}-{settings.rate}", settings)
    annotate = Annotator(tagger, extractor, bf16=settings.bf16)
    return Trained(annotate, figure(data.dev, annotate(data.dev)), None)


def _fine_tune(
    model: SequenceTagger | RelationExtractor, corpus: Corpus, place: Path, settings: Settings
) -> None:
    """Train one model, and give it the weights of its best epoch on dev."""
    with mixed(bf16=settings.bf16):
        ModelTrainer(model, corpus).fine_tune(
            place,
            learning_rate=settings.rate,
            mini_batch_size=settings.batch,
            max_epochs=settings.epochs,
            use_final_model_for_eval=False,
            save_final_model=False,
        )
    best = place / "best-model.pt"  # none where no epoch found anything right
    if best.exists():
        model.load_state_dict(type(model).load(best).state_dict())
    model.eval()


def _encoder() -> TransformerWordEmbeddings:
    return TransformerWordEmbeddings(
        minilm(), layers="-1", subtoken_pooling="first", fine_tune=True, use_context=False
    )


if __name__ == "__main__":
    asked = parser(__doc__, rates=(5e-5, 2e-4), epochs=10, batch=4).parse_args()
    run(asked, "flair", train, ("torch", "transformers", "flair"), {})
