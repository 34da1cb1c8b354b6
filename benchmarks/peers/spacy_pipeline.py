"""spaCy's components on one tok2vec, or on the encoder, by its quickstart configuration.

    python benchmarks/peers/spacy_pipeline.py WORK/ewt -o WORK/spacy-ewt --parts tagger parser
    python benchmarks/peers/spacy_pipeline.py WORK/ewt -o WORK/spacy_minilm-ewt --encoder
    python benchmarks/peers/spacy_pipeline.py WORK/wnut17 -o WORK/spacy-wnut17 --parts ner

Tags are the universal ones; words and sentences are given. Training looks at dev now and
then and keeps the best, as spaCy does.
"""

import argparse
import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import spacy
import torch
from exchange import Sentence, bio, minilm
from spacy.cli.init_config import init_config
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_nlp
from spacy.vocab import Vocab
from thinc.api import Config, fix_random_seed
from tries import Data, Settings, Trained, parser, run

DEV_SCORES = {"tagger": "tag_acc", "parser": "dep_las", "ner": "ents_f"}  # spaCy's names for them
ROOT = "ROOT"
AT_ONCE = 128  # sentences annotated at once
WARMUP = 0.1  # of all steps, with the encoder
LOOK = 400  # words of train by this: steps between looks at dev, 511 on EWT
Tree = dict[str, Any]


def doc_of(vocab: Vocab, sentence: Sentence) -> Doc:
    """Return spaCy's document of one sentence, with the tags, tree and names that it has.

    A root's label is written in capitals, as spaCy's own converter from CoNLL-U does. Names of
    spaCy's do not overlap: the longer stays.
    """
    annotation: dict[str, list[Any]] = {}
    if sentence.tags is not None:
        annotation["tags"] = list(sentence.tags)
    if sentence.heads is not None and sentence.labels is not None:
        annotation["heads"] = list(sentence.heads)
        annotation["deps"] = [ROOT if label == ROOT.lower() else label for label in sentence.labels]
    if sentence.spans is not None:
        annotation["ents"] = bio(len(sentence.words), sentence.spans)
    return Doc(vocab, list(sentence.words), **annotation)


def with_tags(sentence: Sentence, doc: Doc) -> Sentence:
    """Return the sentence with the tags that spaCy predicts."""
    return replace(sentence, tags=tuple(token.tag_ for token in doc))


def with_tree(sentence: Sentence, doc: Doc) -> Sentence:
    """Return the sentence with the tree that spaCy predicts, a root's label as UD writes it."""
    labels = (ROOT.lower() if token.dep_ == ROOT else token.dep_ for token in doc)
    return replace(sentence, heads=tuple(token.head.i for token in doc), labels=tuple(labels))


def with_names(sentence: Sentence, doc: Doc) -> Sentence:
    """Return the sentence with the names that spaCy predicts."""
    return replace(sentence, spans=tuple((name.start, name.end, name.label_) for name in doc.ents))


PREDICTIONS: dict[str, Callable[[Sentence, Doc], Sentence]] = {
    "tagger": with_tags,
    "parser": with_tree,
    "ner": with_names,
}


def stored(sentences: Iterable[Sentence], path: Path) -> str:
    """Write sentences as spaCy reads them for training."""
    vocab = Vocab()
    DocBin(docs=[doc_of(vocab, each) for each in sentences]).to_disk(path)
    return str(path)


def configuration(data: Data, settings: Settings, parts: Sequence[str], *, encoder: bool) -> Config:
    """Return the quickstart's configuration, without word vectors, with so many epochs.

    Batches grow to so many words; with the encoder they have so many from the start.
    """
    config = init_config(
        lang="en", pipeline=list(parts), optimize="efficiency", gpu=False, silent=True
    )
    config["paths"] |= {
        "train": stored(data.train, data.scratch / "train.spacy"),
        "dev": stored(data.dev, data.scratch / "dev.spacy"),
        "vectors": None,
    }
    config["system"]["seed"] = settings.seed
    words = sum(len(each.words) for each in data.train)
    config["training"] |= {
        "max_epochs": settings.epochs,
        "max_steps": 0,
        "patience": 0,
        "eval_frequency": max(1, words // LOOK),
    }
    config["training"]["optimizer"]["learn_rate"] = settings.rate
    config["training"]["batcher"]["size"]["stop"] = settings.batch
    if encoder:
        config["training"]["batcher"]["size"] = settings.batch
        steps = settings.epochs * words // settings.batch
        put_encoder(config, parts, settings.rate, steps=steps)
    return config


def put_encoder(config: Config, parts: Sequence[str], rate: float, *, steps: int) -> None:
    """Put the encoder in the place of tok2vec, as spacy-curated-transformers documents it.

    The parser keeps the upper layer of the quickstart: without one, as large pipelines have it, its
    gradients drown the encoder for longer than a run here takes.
    """
    loaders = "spacy-curated-transformers"
    config["nlp"] |= {"pipeline": ["transformer", *parts], "batch_size": AT_ONCE}
    components = config["components"]
    del components["tok2vec"]
    components["transformer"] = {
        "factory": "curated_transformer",
        "model": {
            "@architectures": f"{loaders}.BertTransformer.v1",
            **shape(Path(minilm())),
            "piece_encoder": {"@architectures": f"{loaders}.BertWordpieceEncoder.v1"},
            "with_spans": {
                "@architectures": f"{loaders}.WithStridedSpans.v1",
                "stride": 96,
                "window": 128,
            },
        },
    }
    for name in parts:
        components[name]["model"]["tok2vec"] = {
            "@architectures": f"{loaders}.LastTransformerLayerListener.v1",
            "width": components["transformer"]["model"]["hidden_width"],
            "pooling": {"@layers": "reduce_mean.v1"},
            "upstream": "transformer",
        }
    config["initialize"]["components"]["transformer"] = {
        "encoder_loader": {
            "@model_loaders": f"{loaders}.HFTransformerEncoderLoader.v1",
            "name": minilm(),
        },
        "piecer_loader": {
            "@model_loaders": f"{loaders}.HFPieceEncoderLoader.v1",
            "name": minilm(),
        },
    }
    config["training"]["optimizer"]["learn_rate"] = {
        "@schedules": "warmup_linear.v1",
        "warmup_steps": int(WARMUP * steps),
        "total_steps": steps,
        "initial_rate": rate,
    }


def shape(folder: Path) -> Tree:
    """Return the encoder's shape in the words of spacy-curated-transformers."""
    told = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    names = {
        "hidden_size": "hidden_width",
        "intermediate_size": "intermediate_width",
        "num_attention_heads": "num_attention_heads",
        "num_hidden_layers": "num_hidden_layers",
        "max_position_embeddings": "model_max_length",
        "vocab_size": "vocab_size",
    }
    return {mine: told[theirs] for theirs, mine in names.items()}


class Annotator:
    """A pipeline, words in, the predictions of its parts out."""

    def __init__(self, nlp: Language, parts: Sequence[str]) -> None:
        """Keep the pipeline, and the names of those of its components that predict."""
        self.nlp = nlp
        self.parts = parts

    def __call__(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Annotate sentences, those of like length together."""
        order = sorted(range(len(sentences)), key=lambda row: len(sentences[row].words))
        docs = (doc_of(self.nlp.vocab, sentences[row]) for row in order)
        annotated = dict(zip(order, self.nlp.pipe(docs, batch_size=AT_ONCE), strict=True))
        return [self._predicted(sentence, annotated[row]) for row, sentence in enumerate(sentences)]

    def _predicted(self, sentence: Sentence, doc: Doc) -> Sentence:
        """Return the sentence with what all parts predict."""
        return reduce(lambda merged, part: PREDICTIONS[part](merged, doc), self.parts, sentence)


def train(data: Data, settings: Settings, parts: Sequence[str], *, encoder: bool) -> Trained:
    """Train in this process, and load what was best on dev; its score is that of the last part."""
    torch.set_num_threads(1)
    random.seed(settings.seed)
    fix_random_seed(settings.seed)
    out = data.scratch / f"rate-{settings.rate}"
    out.mkdir(parents=True, exist_ok=True)
    nlp = init_nlp(configuration(data, settings, parts, encoder=encoder))
    train_nlp(nlp, out)
    best = spacy.load(out / "model-best")
    score = best.meta["performance"][DEV_SCORES[parts[-1]]]
    return Trained(Annotator(best, parts), score, None)


def main() -> None:
    """Train with the encoder or without."""
    arguments: argparse.ArgumentParser = parser(__doc__, rates=(1e-3,), epochs=10, batch=1000)
    arguments.add_argument(
        "--parts", nargs="+", choices=list(PREDICTIONS), default=["tagger", "parser"]
    )
    arguments.add_argument("--encoder", action="store_true", help="MiniLM in the place of tok2vec")
    chosen = arguments.parse_args()
    packages = ["torch", "spacy"]
    packages += ["spacy-curated-transformers", "transformers"] if chosen.encoder else []
    name = "spacy_minilm" if chosen.encoder else "spacy"
    trainer = partial(train, parts=chosen.parts, encoder=chosen.encoder)
    run(chosen, name, trainer, packages, {"parts": chosen.parts})


if __name__ == "__main__":
    main()
