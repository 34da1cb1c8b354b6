"""Pre-train an encoder and write it as a plain Hugging Face folder.

Training is that of any recipe (``training.train``): its run, with checkpoints, lies in
``ENCODER.run``.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from safetensors.torch import save as serialized
from torch import Tensor

from spanloom.atomic_io import make_folder, write_folder
from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.config.recipe import Recipe
from spanloom.data.subwords import SubwordTokenizer
from spanloom.data.text_cache import TextSource
from spanloom.data.wordpiece import SPECIAL, train_wordpiece
from spanloom.embedders import _bert, _encoder_check, transformer
from spanloom.embedders.transformer import Transformer
from spanloom.errors import TrainingError
from spanloom.file_lock import open_locked
from spanloom.model import serialization
from spanloom.model.model import Model
from spanloom.model.plan import Plan
from spanloom.model.precision import ComputeConfig, compute
from spanloom.nn.masked_language import MaskedLMHead
from spanloom.quantity import shorten_list
from spanloom.tasks.masked_lm import MaskedLMTask, MaskingOptions, loss_of
from spanloom.tokenization import replace_surrogates
from spanloom.training import masked_lm_weights, text_data, utilization
from spanloom.training.checkpoint import Progress
from spanloom.training.metrics_log import Log
from spanloom.training.progress_line import LogIntervals
from spanloom.training.train import refuse_foreign, replaced_note, run_folder, train

WEIGHTS, CONFIG = "model.safetensors", "config.json"
_MODEL, _START = "model", "start"  # in the run's folder: the trained model, an untrained encoder
_POSITIONS = "embeddings.position_embeddings.weight"


@dataclass(frozen=True, slots=True)
class PretrainingResult:
    """How far pre-training came, its speed, and the share of the processor's peak that it used.

    ``compute`` says on what: device, threads, precision.
    """

    progress: Progress
    pieces_per_second: float
    utilization: utilization.Utilization
    compute: str

    @property
    def losses(self) -> dict[str, float]:
        """Losses on dev, in nats per masked piece (of next sentences, so weighted), by metric."""
        return {name: loss_of(value) for name, value in self.progress.metrics.items()}


def pretrain(
    plan: Plan,
    out: Path,
    log: Log,
    *,
    resume: bool = False,
    pace: LogIntervals = LogIntervals(),
    device: str | None = None,
) -> PretrainingResult:
    """Train the encoder of a plan whose tasks are all pre-training, and export it to ``out``.

    Its figures lie beside it (``pretraining.json``). Raises what ``train`` does, and
    ``RecipeError`` for other tasks or another trunk.
    """
    check(plan)
    refuse_foreign(out)
    if is_first_process() and (note := replaced_note(out)) is not None:
        log(note)
    model_dir = run_folder(out) / _MODEL
    progress = train(plan, model_dir, log, resume=resume, pace=pace, device=device)
    model = serialization.load(model_dir, device="cpu", precision="fp32")
    config = compute(plan.recipe.stages[-1].precision, device)
    speed = progress.pieces / max(progress.seconds, 1e-9)
    used = _utilization(model, config, speed)
    result = PretrainingResult(progress, speed, used, str(config))
    if is_first_process():
        export(model, out, result)
    return result


def check(plan: Plan) -> None:
    """Raise ``RecipeError`` unless a transformer is trained by masked pieces alone."""
    recipe = plan.recipe
    for name, task in plan.tasks.items():
        if not isinstance(task.options, MaskingOptions):
            raise recipe.at("tasks", name, "kind").error(
                f"expected masked_lm, all that pre-training learns, got {task.spec.kind}; "
                f"spanloom train learns other kinds"
            )
    if plan.transformer is None or len(plan.embedders) > 1 or plan.levels:
        raise recipe.at("trunk").error("expected a transformer alone, without levels")
    if plan.transformer.casing_embeddings:
        raise recipe.at("trunk", 0, "casing_embeddings").error(
            "expected false, as spelling would betray masked words and is no part of what is "
            "written, got true; recipes that use the encoder may have it"
        )


def is_first_process() -> bool:
    """Whether this is the process that writes, of those that ``torchrun`` started."""
    return os.environ.get("RANK", "0") == "0"


def _num_processes() -> int:
    """Return how many processes ``torchrun`` started; each has a device of its own."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def _utilization(
    model: Model, config: ComputeConfig, pieces_per_second: float
) -> utilization.Utilization:
    encoder, head = _encoder(model), _head(model)
    share = next(
        task.masking.mlm_probability
        for task in model.tasks.values()
        if isinstance(task, MaskedLMTask)
    )
    flops = utilization.training_flops(encoder, head, model.recipe.window, share)
    return utilization.of_peak(flops * pieces_per_second / _num_processes(), config)


def _encoder(model: Model) -> Transformer:
    encoder = model.network.transformer
    assert encoder is not None, "a model of pieces has a transformer"
    return encoder


def _head(model: Model) -> MaskedLMHead:
    heads = (model.network.head(name) for name in model.tasks)
    return next(head for head in heads if isinstance(head, MaskedLMHead))


def export(model: Model, out: Path, result: PretrainingResult) -> None:
    """Write the encoder of a model: config, weights and tokenizer, as transformers reads them.

    An encoder whose published class has BERT's masked language head has it with it
    (BertForMaskedLM, RoFormerForMaskedLM); of other encoders, and of the boundary objective and
    next sentence prediction, no head is kept. A BERT from scratch has the positions that it was
    trained with and no more. Raises ``StorageError``.
    """
    trunk = _encoder(model)
    encoder = trunk.encoder
    config = json.loads(_encoder_check.dumps(encoder.config))
    weights: Mapping[str, Tensor] = encoder.state_dict()
    window = _length(model.subword_tokenizer, model.recipe.window)
    length = _encoder_check.positions(encoder) or window
    if isinstance(encoder, _bert.Bert) and _is_from_scratch(model):
        length = config["max_position_embeddings"] = window
        weights = {**weights, _POSITIONS: weights[_POSITIONS][:length]}
    with_head = masked_lm_weights.model_class(trunk)
    if with_head:
        name, prefix = with_head
        config["architectures"] = [name]
        named = {f"{prefix}{weight_name}": weight for weight_name, weight in weights.items()}
        weights = named | masked_lm_weights.published(_head(model))
    else:
        is_bert = isinstance(encoder, _bert.Bert)
        config["architectures"] = ["BertModel" if is_bert else type(encoder).__name__]
    with write_folder(out) as staging:
        (staging / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        contiguous = {name: weight.detach().contiguous() for name, weight in weights.items()}
        (staging / WEIGHTS).write_bytes(serialized(contiguous, {"format": "pt"}))
        save_tokenizer(model.subword_tokenizer, staging, length, config)
        card = _card(model.recipe, has_head=with_head is not None)
        (staging / "README.md").write_text(card, encoding="utf-8")
        (staging / masked_lm_weights.RECORD).write_text(
            json.dumps(_record(result), indent=1) + "\n", "utf-8"
        )


def _record(result: PretrainingResult) -> dict[str, Any]:
    """Return the figures of a run as JSON; a loss without end, of dev without a block, is null."""
    progress, used, losses = result.progress, result.utilization, result.losses
    return {
        "dev": progress.metrics,
        "losses": {name: loss if loss < math.inf else None for name, loss in losses.items()},
        "updates": progress.global_step,
        "pieces": progress.pieces,
        "seconds": progress.seconds,
        "pieces_per_second": result.pieces_per_second,
        "mfu": used.share,
        "peak_flops": used.peak,
        "peak_is_measured": used.is_measured,
        "compute": result.compute,
        "processes": _num_processes(),
        "version": version("spanloom"),
    }


def _is_from_scratch(model: Model) -> bool:
    options = model.plan.transformer
    return options is not None and options.init == "random"


def _length(pieces: SubwordTokenizer, window: int) -> int:
    """Return how many pieces an encoder reads at once, special ones included."""
    return window + len(pieces.prefix) + len(pieces.suffix)


def save_tokenizer(
    pieces: SubwordTokenizer, folder: Path, length: int, config: Mapping[str, Any]
) -> None:
    """Write a tokenizer as transformers reads it.

    ``length`` is how many pieces its encoder reads at once, ``config`` that of the encoder: with
    two types of segments, its inputs tell the second of two texts from the first.
    """
    from transformers import PreTrainedTokenizerFast

    def piece(row: int) -> str | None:
        return pieces.tokenizer.id_to_token(row)

    named = {"pad_token": pieces.padding, "unk_token": pieces.unknown, "mask_token": pieces.mask}
    if pieces.prefix and pieces.suffix:
        named |= {"cls_token": pieces.prefix[0], "sep_token": pieces.suffix[-1]}
    types = ["token_type_ids"] if config.get("type_vocab_size", 0) > 1 else []
    fast = PreTrainedTokenizerFast(
        tokenizer_object=pieces.tokenizer,
        model_max_length=length,
        model_input_names=["input_ids", *types, "attention_mask"],
        **{name: piece(row) for name, row in named.items()},
    )
    fast.save_pretrained(folder)


def _card(recipe: Recipe, *, has_head: bool) -> str:
    """Return the README; of folders by their full path, as --vocab-size makes, it has the names."""
    pipeline = "pipeline_tag: fill-mask\n" if has_head else ""
    plain = recipes.to_plain(recipe)
    for part in plain["trunk"]:
        if Path(part["transformer"]).is_absolute():
            part["transformer"] = Path(part["transformer"]).name
    data = ", ".join(recipe.all_sources)
    return (
        f"---\nlibrary_name: transformers\n{pipeline}---\n\n"
        f"An encoder that `spanloom pretrain` trained on {data}, by this recipe:\n\n"
        f"```yaml\n{yaml.dump(plain)}```\n"
    )


def untrained_encoder(plan: Plan, out: Path, log: Log, *, vocab_size: int, cased: bool) -> Path:
    """Write the shape of a plan's encoder with a WordPiece vocabulary of the plan's own text.

    The folder lies in the run's, and its name follows from text, size, casing and shape; if it is
    there it is kept. Raises ``TrainingError`` where the text has fewer pieces, ``DataError`` and
    ``StorageError``.
    """
    check(plan)
    options = plan.transformer
    assert options is not None, "checked"
    run_dir = run_folder(out)
    make_folder(run_dir)
    config = _shape(transformer.source(options.transformer, plan.recipe_dir))
    sources = [source.fingerprint for source in _sources(plan)]
    content = json.dumps([vocab_size, cased, plan.recipe.window, config, sources], sort_keys=True)
    folder = run_dir / f"{_START}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"
    with open_locked(run_dir / f"{_START}.lock", os.O_WRONLY | os.O_CREAT):
        if not folder.exists():
            names = shorten_list(plan.recipe.all_sources)
            log(f"making a vocabulary of {vocab_size:,} pieces of {names}")
            pieces = train_wordpiece(partial(_texts, plan), vocab_size, cased=cased)
            size = pieces.tokenizer.get_vocab_size(with_added_tokens=True)
            if size == len(SPECIAL):
                raise TrainingError(f"--vocab-size: expected text with words, got none in {names}")
            if size < vocab_size:
                raise TrainingError(f"--vocab-size: the text has but {size} pieces")
            with write_folder(folder) as staging:
                text = json.dumps({**config, "vocab_size": size, "pad_token_id": pieces.padding})
                (staging / CONFIG).write_text(text, encoding="utf-8")
                save_tokenizer(pieces, staging, _length(pieces, plan.recipe.window), config)
    return folder


def _texts(plan: Plan) -> Iterator[str]:
    """Yield the texts that the tasks of a plan learn from."""
    for source in _sources(plan):
        yield from (replace_surrogates(document.text) for document in source.documents())


def _sources(plan: Plan) -> list[TextSource]:
    """Return the raw text that the tasks of a plan learn from, each once.

    Raises ``DataError`` for text that is not there, ``TrainingError`` for other data.
    """
    sources = {name: text_data.source(plan, task) for name, task in plan.tasks.items()}
    streamed = [*dict.fromkeys(sources[name] for name in text_data.streamed(plan))]
    if not streamed:
        got = ", ".join(plan.recipe.all_sources)
        raise TrainingError(f"--vocab-size: expected raw text (*.txt, *.txt.gz), got {got}")
    return streamed


def _shape(folder: str) -> dict[str, Any]:
    """Return the config of an encoder; raises ``ModelError``."""
    from spanloom.embedders import _hub

    config: dict[str, Any] = json.loads(_encoder_check.dumps(_hub.load_config(folder)))
    return config
