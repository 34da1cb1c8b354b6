"""Words a second of a model beside a spaCy pipeline on the same texts, in turn, by one thread.

    python benchmarks/beside_spacy.py MODEL glad/ewt PIPELINE [--rounds 5] [--json FILE]

PIPELINE is one that ``benchmarks/peers/spacy_pipeline.py`` trained: its words and sentences are
given to it. MODEL reads text and splits it, and returns Documents. Seconds are CPU time.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import process_time

import spacy
import torch
from spacy.tokens import Doc

from spanloom.corpora import folder
from spanloom.document import Document
from spanloom.model.serialization import load

BATCH = 128  # sentences of spaCy, as in the peers' runs


def sentences_of(documents: Sequence[Document]) -> list[list[str]]:
    """Return the words of each sentence, by the layers ``words`` and ``sentences``."""
    sentences = []
    for document in documents:
        words = sorted(document["words"].spans, key=lambda span: span.start)
        for sentence in document["sentences"].spans:
            inside = [span for span in words if sentence.start <= span.start < sentence.end]
            sentences.append([document.text_of(span) for span in inside])
    return sorted(sentences, key=len)


def seconds_of(use: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    start = process_time()
    use()
    return process_time() - start


def main() -> None:
    """Time both in turn, and print medians and the median ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("--split", default="test")
    parser.add_argument("--tasks", help="with commas; by default all of the model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    documents = folder.read(args.data, args.split).documents
    sentences = sentences_of(documents)
    texts = [document.unannotated() for document in documents]
    model, nlp = load(args.model, device="cpu"), spacy.load(args.pipeline)
    names = args.tasks.split(",") if args.tasks else list(model.layers)

    def annotate() -> None:
        for _ in model.annotate(texts, names):
            pass

    def pipe() -> None:
        docs = (Doc(nlp.vocab, words) for words in sentences)
        for _ in nlp.pipe(docs, batch_size=BATCH):
            pass

    num_words = sum(map(len, sentences))
    annotate()  # what is made once is made
    pipe()
    rounds = [
        {"model": num_words / seconds_of(annotate), "spacy": num_words / seconds_of(pipe)}
        for _ in range(args.rounds)
    ]
    result = {
        "words": num_words,
        "tasks": names,
        "pipeline": nlp.pipe_names,
        "compute": str(model.compute),
        **{side: round(median(speeds[side] for speeds in rounds)) for side in ("model", "spacy")},
        "ratios": sorted(round(speeds["model"] / speeds["spacy"], 2) for speeds in rounds),
    }
    print(json.dumps(result, indent=1))
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
