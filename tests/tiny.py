"""A random transformer, a small corpus and a recipe, for tests that train real models fast."""

import json
import random
from pathlib import Path

WORDS = "add mix warm cold buffer water cells tube 5 10 ml for spin wash the and".split()
LABELS = {
    "add": "Action",
    "mix": "Action",
    "spin": "Action",
    "wash": "Action",
    "buffer": "Reagent",
    "water": "Reagent",
    "cells": "Reagent",
    "tube": "Place",
    "warm": "Modifier",
    "cold": "Modifier",
}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def encoder(folder: Path) -> Path:
    """Save a BERT of 2 layers and 16 units with random weights and a WordPiece tokenizer."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.set_num_threads(1)  # several would wait for each other longer than they work
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    pieces = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    pieces += [word for word in WORDS if word not in pieces]
    tokenizer = Tokenizer(
        models.WordPiece({piece: row for row, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **dict(zip(names, SPECIAL, strict=True))
    )
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=300,
        pad_token_id=0,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def corpus(folder: Path, train: int = 6, dev: int = 2) -> Path:
    """Write a brat corpus with spans, relations and events; the same one every time."""
    rng = random.Random(7)
    for split, size in (("train", train), ("dev", dev)):
        split_folder = folder / split
        split_folder.mkdir(parents=True)
        for number in range(size):
            text, ann = document(rng)
            (split_folder / f"{split}{number}.txt").write_text(text, encoding="utf-8")
            (split_folder / f"{split}{number}.ann").write_text(ann, encoding="utf-8")
    return folder


def document(rng: random.Random, sentences: int = 4) -> tuple[str, str]:
    """Return a text of one sentence a line, and its .ann."""
    text, lines, number = "", [], {"T": 0, "R": 0, "E": 0}

    def fresh(letter: str) -> str:
        number[letter] += 1
        return f"{letter}{number[letter]}"

    for _ in range(sentences):
        spans = []
        for word in ["add", "warm", "buffer", *rng.choices(WORDS, k=4)]:
            if word in LABELS:
                spans.append((fresh("T"), LABELS[word]))
                bounds = f"{len(text)} {len(text) + len(word)}"
                lines.append(f"{spans[-1][0]}\t{LABELS[word]} {bounds}\t{word}")
            text += word + " "
        text = text[:-1] + " .\n"
        reagents = [key for key, label in spans if label == "Reagent"]
        for key, label in spans:
            if label == "Action":
                lines.append(f"{fresh('E')}\tAction:{key} Acts-on:{reagents[0]}")
            elif label == "Modifier":
                lines.append(f"{fresh('R')}\tMod-Link Arg1:{reagents[0]} Arg2:{key}")
    return text, "\n".join(lines) + "\n"


def recipe(folder: Path, **changes: object) -> Path:
    """Write encoder, corpus and a recipe of one task ``steps`` over them; returns the recipe.

    ``changes`` are keys of the recipe, such as ``epochs=1`` (the stage's) or ``seed=2``.
    """
    if not (folder / "encoder").exists():
        encoder(folder / "encoder")
    if not (folder / "corpus").exists():
        corpus(folder / "corpus")
    stage: dict[str, object] = {"tasks": ["steps"], "epochs": changes.pop("epochs", 1)}
    stage |= {"batch_words": 32, "ema_decay": 0.9, "precision": "fp32"}
    settings = {
        "trunk": [{"transformer": str(folder / "encoder")}],
        "tasks": {"steps": {"data": "corpus", "kind": "relations", "hidden_size": 16}},
        "stages": [stage],
        "window": 64,
    }
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(settings | changes), encoding="utf-8")
    return path


def placed(ids, rows, owners):
    """Say which word stands at each place of windows, from the places of the words' pieces."""
    import torch

    words = torch.full_like(ids, -1).flatten()
    words[rows] = owners
    return words.view_as(ids)
