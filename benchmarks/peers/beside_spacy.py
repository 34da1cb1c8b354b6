"""Words a second of a model beside a spaCy pipeline on the same texts, in turn, by one thread.

    python benchmarks/peers/beside_spacy.py MODEL glad/ewt WORK/sentences/ewt \\
        WORK/runs/spacy-ewt/rate-0.001/model-best [--precision onnx] [--rounds 5] [--json FILE]

Runs in Spanloom's environment. The pipeline is one that ``spacy_pipeline.py`` trained; it gets
words and sentences, as ``export.py`` wrote them. MODEL reads text and splits it, and returns
Documents. Seconds are CPU time.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median

import spacy
import torch
from exchange import Seconds, read
from spacy.tokens import Doc
from spacy_pipeline import AT_ONCE

from spanloom.corpora import folder
from spanloom.glad.speed import processor
from spanloom.model.serialization import load


def speed(use: Callable[[], None], num_words: int) -> float:
    """Return the words a second of one call that reads so many."""
    seconds = Seconds()
    with seconds.counted():
        use()
    return num_words / seconds.taken


def main() -> None:
    """Time both in turn, and print medians and the ratios of all rounds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path, help="folder of the prepared dataset")
    parser.add_argument("sentences", type=Path, help="folder of its exported sentences")
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("--split", default="test")
    parser.add_argument("--tasks", help="with commas; by default all of the model")
    parser.add_argument("--precision", default="auto", help="of our encoder's products")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    exported = read(args.sentences / f"{args.split}.jsonl")
    sentences = sorted((list(sentence.words) for sentence in exported), key=len)
    texts = [document.unannotated() for document in folder.read(args.data, args.split).documents]
    model = load(args.model, device="cpu", precision=args.precision)
    nlp = spacy.load(args.pipeline)
    names = args.tasks.split(",") if args.tasks else list(model.layers)

    def annotate() -> None:
        for _ in model.annotate(texts, names):
            pass

    def pipe() -> None:
        docs = (Doc(nlp.vocab, words) for words in sentences)
        for _ in nlp.pipe(docs, batch_size=AT_ONCE):
            pass

    num_words = sum(map(len, sentences))
    annotate()  # what is made once is made
    pipe()
    rounds = [
        {"model": speed(annotate, num_words), "spacy": speed(pipe, num_words)}
        for _ in range(args.rounds)
    ]
    result = {
        "processor": processor(),
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
