"""Universal Dependencies from raw text: our words and sentences, and what a model says of them.

    python benchmarks/raw_text.py MODEL TREEBANK.conllu \\
        [--words treebank --sentences punctuation] [--json FILE]

The treebank's sentences are joined to paragraphs as its comments say, a blank line between two. The
model reads nothing else; its parts of speech, trees and words are scored by ``spanloom score
--metric ud-eval`` against the treebank. ``--words`` and ``--sentences`` stand in the place of what
the model's recipe says of raw text.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from spanloom.config.options import validate_options
from spanloom.config.yaml import SourceLocation
from spanloom.document import Document
from spanloom.formats import conllu
from spanloom.model import serialization
from spanloom.model.evaluation import LOG, log_test_evaluation
from spanloom.scoring import ud_eval
from spanloom.tokenization import SENTENCE_SPLITTERS, TOKENIZERS, word_tokenizer

TEXT, BREAKS = "# text = ", ("# newdoc", "# newpar")
TEST = "-test"  # a treebank so called is a test set, and each look at it is noted


def paragraphs(treebank: str) -> Iterator[str]:
    """Yield the text of each paragraph."""
    text = ""
    for block in treebank.strip().split("\n\n"):
        lines = block.split("\n")
        if text and any(line.startswith(BREAKS) for line in lines):
            yield text.rstrip()
            text = ""
        rows = [line.split("\t") for line in lines if line[0].isdigit()]
        last = rows[-1][0]
        ends = [row for row in rows if row[0] == last or row[0].endswith(f"-{last}")]
        glued = any("SpaceAfter=No" in row[9] for row in ends)
        text += next(line for line in lines if line.startswith(TEXT))[len(TEXT) :]
        text += "" if glued else " "
    yield text.rstrip()


def main() -> None:
    """Annotate the raw text and print the scores."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model")
    arguments.add_argument("treebank", type=Path)
    arguments.add_argument("--words", choices=TOKENIZERS)
    arguments.add_argument("--sentences", choices=SENTENCE_SPLITTERS)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    model = serialization.load(options.model)
    tokenization = model.recipe.tokenization
    tokenizers = {
        "words": options.words or tokenization.tokenizer,
        "sentences": options.sentences or tokenization.sentence_splitter,
    }
    model = replace(model, split=word_tokenizer(**tokenizers))
    text = "\n\n".join(paragraphs(options.treebank.read_text(encoding="utf-8")))
    documents = model.annotate([Document(text, name=options.treebank.stem)], with_tokens=True)
    columns = validate_options(
        conllu.Columns, {"add_sent_metadata": True, "infer_mwt": True}, SourceLocation("columns")
    )
    with tempfile.TemporaryDirectory() as folder:
        predicted = Path(folder, "predicted.conllu")
        predicted.write_text(conllu.dumps(documents, options=columns), encoding="utf-8")
        scores = ud_eval.score(options.treebank, predicted, {"--no-enhanced": ""})
    print(ud_eval.table(scores))
    if options.treebank.stem.endswith(TEST):
        metrics = {name: score["f1"] / 100 for name, score in scores["printed"].items()}
        name, raw = options.treebank.stem, Document(text, name=options.treebank.stem)
        command = f"benchmarks/raw_text.py MODEL {options.treebank.name}"
        log_test_evaluation(
            LOG, command, options.model, name, "test", [raw], model.recipe.seed, {"raw": metrics}
        )
    if options.json:
        result = {
            "treebank": options.treebank.stem,
            "model": Path(options.model).name,
            **tokenizers,
            **scores,
        }
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
