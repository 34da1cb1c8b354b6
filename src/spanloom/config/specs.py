"""The parts of a recipe: embedders, levels, span layers, corpora, tasks, stages and the card.

What belongs to one kind of embedder, level or task stays a plain mapping (``options``), which the
file that owns the kind checks with its own model: ``options(Model, spec.options, recipe.at(...))``.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from spanloom.config.options import Options

TRUNK = "trunk"  # how levels and tasks name the word vectors below all levels
SPECIAL_IDS = "special_ids"  # of the tokenizer: its key in the vocabulary, beside the tasks
PIECES = "pieces"  # the level of a transformer's own pieces, for tasks that guess them

Name = Annotated[str, Field(pattern=r"^[\w-]+$")]
Label = Annotated[str, Field(pattern=r"^[^\x00-\x1f]+$")]
Sharing = Literal["separate-heads", "task-embedding", "task-token", "shared-head", "family-heads"]
Raw = dict[str, Any]
# a number of sentences (texts, queries), or a percentage of them
Examples = Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern=r"^\d{1,2}(\.\d+)?%$|^100%$")]


class EmbedderSpec(Options):
    """One embedder; ``name`` is its module in ``embedders/``.

    ``options`` holds every key of the mapping as it stands, the one that names the embedder too
    (``{transformer: minilm, dropout: 0.1}``): its value is the embedder's main option.
    """

    name: Name
    options: Raw = {}


class LevelSpec(Options):
    """A contextual layer between the trunk and the heads."""

    name: Name = Field(description="what tasks and higher levels call it")
    inputs: tuple[Name, ...] = Field(
        default=(TRUNK,),
        min_length=1,
        description="what it reads, joined: trunk or levels above in this list",
    )
    scope: Literal["sentence", "window"] = Field(
        default="window", description="sentence | window: how far it sees"
    )
    options: Raw = {}


class SpanLayerSpec(Options):
    """A projection of words to spans that several tasks read in place of one of their own."""

    name: Name = Field(description="what tasks call it")
    level: Name = Field(default=TRUNK, description="the level it reads, or trunk")
    hidden_size: int = Field(default=128, ge=8, le=4096, description="size of a span's vector")
    dropout: float = Field(default=0.3, ge=0, lt=1, description="dropout of the vectors it reads")
    boundary_context: bool = Field(
        default=False, description="the words before and after a span are read with it"
    )


class CorpusPartSpec(Options):
    """A corpus that is part of a joined one, and the map of its labels."""

    data: str = Field(min_length=1, description="a corpus name or a folder")
    layer: str = Field(default="main", min_length=1, description="the layer it adds")
    label_map: dict[str, Label | None] | None = Field(
        default=None,
        min_length=1,
        description="its labels, each with its name in the whole (null: something, unclear what); "
        "unsaid: as they are, and all of them were looked for",
    )


class TaskSpec(Options):
    """A task, learnt from one layer of one corpus."""

    data: str = Field(
        min_length=1, description="a corpus name, a folder, or one of the recipe's corpora"
    )
    kind: Name = Field(description="the kind of task: a file name in tasks/")
    level: Name = Field(default=TRUNK, description="the level its heads read, or trunk")
    span_layer: Name | None = Field(
        default=None, description="the span layer its head reads; null: a projection of its own"
    )
    layer: str = Field(
        default="main", min_length=1, description="the layer of the documents it learns"
    )
    on_request: bool = Field(
        default=False, description="the model runs it only where it is asked for by name"
    )
    examples: Examples | None = Field(
        default=None,
        description="learn from part of train, as 500 or 10% (whole documents); null: all",
    )
    corpus_vectors: bool = Field(
        default=False, description="add a learnt vector of each joined corpus to the words"
    )
    guidelines: str | None = Field(
        default=None, description="the joined corpus whose vector is used; null: the first"
    )
    options: Raw = {}


class LearningRates(Options):
    """Learning rates at their highest."""

    encoder: float = Field(
        default=3e-4, ge=0, description="of pre-trained encoders; 0 freezes them"
    )
    task: float = Field(default=2e-3, gt=0, description="of all else: heads, levels, vectors")
    layerwise_decay: float = Field(
        default=1.0, gt=0, le=1, description="an encoder layer's rate beside that of the one above"
    )


class TeacherSpec(Options):
    """A trained model whose probabilities some tasks of a stage learn beside their gold."""

    model: str = Field(
        min_length=1, description="the model: a folder from here, a hub id, or spanloom-en"
    )
    tasks: tuple[Name, ...] = Field(
        min_length=1, description="the tasks it teaches; it has them, with the same labels"
    )
    weight: float = Field(
        default=0.5, gt=0, lt=1, description="its share of their losses; the rest is of gold"
    )


class StageSpec(Options):
    """One stage of training, with an optimiser of its own."""

    tasks: tuple[Name, ...] = Field(min_length=1, description="the tasks it trains")
    reset_heads: tuple[Name, ...] = Field(
        default=(), description="of these, the heads that start anew instead of being kept"
    )
    remove_tasks: tuple[Name, ...] = Field(
        default=(), description="tasks that are no part of the model from this stage on"
    )
    sampler: Name = Field(  # training knows which there are; a model needs none
        default="proportional",
        description="proportional | examples | temperature | uniform | balanced | round-robin",
    )
    temperature: float = Field(
        default=5.0, ge=1, description="of its sampler: 1 is by examples, large ones uniform"
    )
    loss_weights: dict[Name, Annotated[float, Field(gt=0)]] = Field(
        default={}, description="what the losses of some tasks are multiplied by"
    )
    teacher: TeacherSpec | None = Field(
        default=None, description="a trained model that teaches some of its tasks; null: none"
    )
    epochs: float = Field(default=8.0, gt=0, description="passes over the data; fractions are fine")
    epoch_size: Literal["all-tasks", "smallest-task"] = Field(
        default="all-tasks",
        description="all-tasks | smallest-task: whose data an epoch goes through",
    )
    updates_per_task: int | None = Field(
        default=None,
        ge=1,
        description="length in updates of each task, on average; null: by epochs",
    )
    lr: LearningRates = Field(default=LearningRates(), description="highest learning rates")
    batch_words: int = Field(default=768, ge=1, description="words in a batch")
    batch_sentences: int | None = Field(
        default=None,
        ge=1,
        description="sentences in the batches of all its tasks together; null: by batch_words",
    )
    word_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="share of words hidden from the encoder in training"
    )
    gradient_accumulation_steps: int = Field(
        default=1, ge=1, description="batches summed before each update"
    )
    share_batches: bool = Field(
        default=False,
        description="tasks that read one corpus alike learn from the same batches, encoded once",
    )
    optimizer: Literal["adamw", "adam"] = Field(default="adamw", description="adamw | adam")
    weight_decay: float = Field(default=0.01, ge=0, description="pull of weights towards 0")
    warmup_updates: int = Field(
        default=50, ge=0, description="updates in which rates rise, at most half of the stage"
    )
    lr_schedule: Literal["linear", "plateau"] = Field(
        default="linear", description="linear (fall to 0) | plateau (halve when dev stops rising)"
    )
    lr_patience: int = Field(
        default=1, ge=1, description="plateau: dev scores in a row that are no better, then halve"
    )
    max_grad_norm: float | None = Field(
        default=5.0, gt=0, description="longest gradient; null: any"
    )
    ema_decay: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="decay of a running average of weights, as 0.999; null: none",
    )
    patience: int | None = Field(
        default=None,
        ge=1,
        description="stop after so many epochs without a better dev score; null: never",
    )
    validation_metric: str | None = Field(
        default=None,
        description="dev score that decides, TASK.METRIC; null: mean of all",
    )
    save_best_per_task: bool = Field(
        default=False,
        description="keep the best weights of each task, too",
    )
    eval_every_epochs: float = Field(default=1.0, gt=0, description="epochs between dev scores")
    num_evaluations: int | None = Field(
        default=None, ge=1, description="dev scores, evenly spread; null: by eval_every_epochs"
    )
    precision: Literal["auto", "fp32", "bf16"] = Field(
        default="auto", description="auto (bf16 where the device has it) | fp32 | bf16"
    )


class CardSpec(Options):
    """The parts of a model card that only its authors know."""

    language: str | None = Field(
        default=None, pattern=r"^[a-z]{2,3}$", description="of its texts, as en (ISO 639)"
    )
    intended_use: str | None = Field(default=None, min_length=1, description="what it is made for")
    limitations: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(), description="what it is not good at, and what its scores do not say"
    )
