"""Whether a model that was saved is the one that was trained: it is loaded, and reads a text."""

from collections.abc import Mapping
from pathlib import Path

import torch

from spanloom.data.collate import collate
from spanloom.data.instances import InstanceLimits
from spanloom.document import Document, Query
from spanloom.errors import ModelError
from spanloom.model import serialization
from spanloom.model.model import Model
from spanloom.tensors import HeadInputs

_TEXT = "Ada (b. 1815) didn't add 5 ml of the buffer,\nand Größe 中文 42%.  Then she met Bob."
_ASKED = Document(_TEXT, queries=(Query("Q1", "Who met Bob?"),))


def verify(model: Model, saved: Path) -> None:
    """Raise ``ModelError`` where what was saved, loaded again, reads a text in another way.

    The model is left on the CPU with the saved weights.
    """
    loaded = serialization.load(saved, device="cpu", precision="fp32")
    serialization.load_weights(saved, model.network.to("cpu"))
    if loaded.tokenize(_ASKED) != model.tokenize(_ASKED):
        raise ModelError(f"{saved}: its tokenizer cuts words in another way than that of training")
    for name in loaded.tasks:
        mine, theirs = _read(model, name), _read(loaded, name)
        for one, two in zip(mine.values(), theirs.values(), strict=True):
            if not one.word_vectors.equal(two.word_vectors):
                raise ModelError(
                    f"{saved}: loaded again, the network reads a text in another way than in "
                    f"training (task {name!r}); the weights are there, its shape was not kept"
                )


def _read(model: Model, task: str) -> Mapping[str, HeadInputs]:
    """What the head of a task reads of the text; nothing where its reading has nothing of it."""
    window = model.recipe.window
    reading = model.tasks[task].reader
    units = list(
        reading.instances(
            0, model.tokenize(_ASKED), InstanceLimits(window, window), model.tokenize_prompt
        )
    )
    if not units:
        return {}
    with torch.inference_mode():
        return model.network.eval().head_inputs(
            collate(units, model.subword_tokenizer, window), [task]
        )
