"""Static word vectors made of an encoder: each word read by itself, its vectors reduced.

    python benchmarks/static_vectors.py DATA NOVELS OUT.txt [--dim 128 --words 20000]

The words are those of the corpora in DATA and the commonest of NOVELS (``*.txt.gz``), as no vectors
of this size can be had without a network: what GloVe is to an encoder elsewhere, this file is to
``recipes/grid/static.yaml`` and others. Words of dev and test are among them, as they are among
GloVe's 400,000; only texts are read, no annotations but words. A word's vector is the mean of its
pieces' vectors, special ones too, of all layers; the file holds the first ``--dim`` principal
components, common words weighing less (Arora et al. 2017, equation 3; rank stands for frequency).
"""

import argparse
import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from spanloom.atomic_io import write_file
from spanloom.corpora import folder
from spanloom.embedders import transformer
from spanloom.model import build
from spanloom.tokenization import given_words, spacy_words

_AT_ONCE = 256  # words read at once
_READ = 30_000  # characters of each novel
_COMMON = 1e-3  # the weight's constant; Arora et al. use 1e-3 to 1e-4


def forms(data: Path, novels: Path, most: int) -> list[str]:
    """Return words, the commonest first: all of the corpora, then the commonest of the novels."""
    ours: Counter[str] = Counter()
    corpora = [path.parent for path in sorted(data.glob("*/train"))]
    for corpus, split in ((path, split) for path in corpora for split in folder.splits(path)):
        for document in folder.read(corpus, split).documents:
            text, words = document.text, given_words(document)
            ours.update(text[a:b] for a, b in (words.words if words else spacy_words(text)))
    counts: Counter[str] = Counter()
    for path in sorted(novels.glob("*.txt.gz")):
        text = gzip.decompress(path.read_bytes()).decode("utf-8", errors="replace")
        counts.update(text[start:end] for start, end in spacy_words(text[:_READ]))
    kept = [word for word, _ in counts.most_common(most)]
    joined = ours + Counter({word: counts[word] for word in kept})
    return [word for word, _ in joined.most_common() if not set(word) & set(" \t\n\r")]


@torch.inference_mode()
def read(words: Sequence[str]) -> Float[Tensor, "word dim"]:
    """Have the encoder read each word by itself."""
    source = transformer.source("minilm", Path())
    encoder = transformer.load_pretrained(source, transformer.Options()).eval()
    tokenizer = build.load_tokenizer(source)
    pieces = [torch.tensor(tokenizer.prefix + ids + tokenizer.suffix) for ids in tokenizer(words)]
    order = sorted(range(len(words)), key=lambda row: len(pieces[row]))
    vectors = torch.empty(len(words), encoder.get_input_embeddings().weight.shape[1])
    for first in range(0, len(words), _AT_ONCE):
        rows = order[first : first + _AT_ONCE]
        ids = pad_sequence([pieces[row] for row in rows], True, tokenizer.padding)
        mask = pad_sequence([torch.ones_like(pieces[row]) for row in rows], True)
        mean = torch.stack(encoder(input_ids=ids, attention_mask=mask).hidden_states).mean(0)
        vectors[rows] = (mean * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    return vectors


def reduced(vectors: Float[Tensor, "word dim"], dim: int) -> Float[Tensor, "word less"]:
    """Return the first principal components; words, the commonest first, weigh by their rank."""
    share = 1 / (torch.arange(len(vectors)) + 2.0)
    share = share / share.sum()
    middle = (vectors * share[:, None]).sum(0)
    _, _, axes = torch.linalg.svd(vectors - middle, full_matrices=False)
    projected: Tensor = (vectors - middle) @ axes[:dim].T
    return projected / projected.std() * (_COMMON / (_COMMON + share))[:, None].sqrt()


def main() -> None:
    """Write the file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("novels", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--dim", type=int, default=128)
    arguments.add_argument("--words", type=int, default=20_000)
    options = arguments.parse_args()
    words = forms(options.data, options.novels, options.words)
    rows = reduced(read(words), options.dim).tolist()
    lines = [
        f"{word} {' '.join(f'{value:.4f}' for value in row)}"
        for word, row in zip(words, rows, strict=True)
    ]
    text = "\n".join([f"{len(words)} {options.dim}", *lines, ""])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_file(options.out, text.encode("utf-8"))
    print(f"{len(words)} words, {options.dim} numbers each, written to {options.out}")


if __name__ == "__main__":
    main()
