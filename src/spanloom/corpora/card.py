"""Dataset cards: the source of a corpus, its license, and its conversion to documents.

A card is one YAML file in ``cards/``; the file's name is the dataset's::

    title: WNUT 2017 emerging entities
    homepage: https://github.com/leondz/emerging_entities_17
    license: CC BY 4.0
    may_share_data: true        # whether the data may be passed on, and weights trained on it
    may_share_weights: true
    citation: "Derczynski et al. 2017, …"
    tasks: [entities]
    metric: conlleval
    sources:
      train: {files: [wnut17/train.conll], format: columns, options: {preset: wnut17}}
    splits:
      train: {source: train}
    counts: {train: {sentences: 3394}}
"""

from collections.abc import Mapping
from importlib import resources
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from spanloom.config import yaml
from spanloom.config.options import Options, validate_options
from spanloom.config.yaml import SourceLocation
from spanloom.errors import NameNotFound

ENDING = ".yaml"
ALL = "all"


class Source(Options):
    """Files of one format."""

    files: tuple[str, ...] = Field(description="paths below the raw folder; * and ** as in a shell")
    base_url: str = Field("", description="address of the first folder of these paths, to download")
    sha256: str = Field("", description="of the list of names and SHA-256 of all files, sorted")
    format: str = Field(description="a format's name, brat, or text: plain, or plain and gzipped")
    options: dict[str, Any] = Field(default={}, description="of the format; and files beside")
    polarities: str | dict[str, str] = Field(
        "", description="a file of three-line blocks that says the polarities, or one by file"
    )
    sentences: str = Field(
        "", description="a source whose documents, of the same names, say where sentences end"
    )


class Fraction(Options):
    """Documents whose seeded rank lies between two fractions of the number of documents."""

    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)
    seed: int = 1
    group_by: str = Field("", description="a key of meta: what says the same there stays together")


class SentenceRange(Options):
    """A run of sentences, counted over all documents; documents at its borders are cut."""

    limit: int | None = Field(None, ge=1, description="this many")
    skip: int = Field(0, ge=0, description="after this many")


class Listed(Options):
    """Documents named in a file, one name per line; under ``heading``, where it is given."""

    file: str
    heading: str = ""


class Split(Options):
    """The documents of a source that make a split; every given rule narrows the selection."""

    source: str | tuple[str, ...] = Field(description="a source, or several one after the other")
    listed_in: Listed | None = None
    include: tuple[str, ...] = Field((), description="documents of these names")
    exclude: tuple[str, ...] = Field((), description="documents of all names but these")
    limit: int | None = Field(None, ge=1, description="this many documents from the start")
    skip: int = Field(0, ge=0, description="documents after this many")
    fraction: Fraction | None = None
    folds: tuple[int, ...] = Field((), description="these of ten folds of the sorted names")
    meta: dict[str, str] = Field({}, description="documents whose meta says so")
    same_names_as: str = Field(
        "", description="documents of the names that this dataset's split has"
    )
    names_not_in: str = Field(
        "", description="documents of the names that no split of this dataset has"
    )
    sentences: SentenceRange | None = None
    requires_layer: str = Field(
        "", description="documents that have a span in this layer after all"
    )
    sentences_with: str = Field(
        "", description="sentences that have a span in this layer, a document each"
    )

    @property
    def source_names(self) -> tuple[str, ...]:
        """The names of its sources."""
        return (self.source,) if isinstance(self.source, str) else self.source


class Drop(Options):
    """Spans of some labels to remove, with the annotations that refer to them."""

    layer: str
    labels: tuple[str, ...]


class Derived(Options):
    """A layer made of another: of some of its spans, or with ``words`` of labels of words.

    Chosen spans stand in the stead of their layer, which is not kept itself.
    """

    layer: str = Field(description="the layer that it is made of")
    head_upos: tuple[str, ...] = Field(
        (), description="spans with such a head; layer upos has tags, layer dependency heads"
    )
    words: Literal["", "inside", "first", "mwe-flags", "mwe-tags"] = Field(
        "", description="the words that are labelled: in spans, the first of each, expressions'"
    )
    label: str = Field("", description="the label of these words; if not given, that of the span")
    outside: str = Field("", description="the label of all other words; if not given, none")
    exclude: tuple[str, ...] = Field((), description="labels of spans whose words do not count")

    @model_validator(mode="after")
    def _check_rule(self) -> Self:
        """Refuse a rule that chooses both spans and words, or neither."""
        if bool(self.head_upos) == bool(self.words):
            raise ValueError("expected either head_upos or words")
        return self


class LabelPrompt(Options):
    """How the labels of a layer are read where a model extracts them as words."""

    verbalizer: dict[str, Annotated[str, Field(pattern=r"\S")]] = Field(
        {}, description="what is written for each label"
    )
    prompt: str = Field("", description='all of them as one text, as "negative or positive?"')


class RelationTexts(Options):
    """Relations as classes of texts (``annotation.relation_texts``)."""

    layer: str = Field(description="the layer of the relations, which is not kept")
    name: str = Field("relation", description="the layer of the class")
    form: Literal["text-pair", "masked", "marked"] = Field(
        description="a text and both ends; ends replaced by their labels; any two spans marked"
    )


class Card(Options):
    """One dataset."""

    title: str
    homepage: str = Field(description="where people find it")
    version: str = ""
    license: str
    may_share_data: bool = Field(description="may the data be passed on")
    may_share_weights: bool = Field(description="may weights that learnt from it be passed on")
    citation: str
    tasks: tuple[str, ...]
    metric: str
    download_instructions: str = Field(
        "", description="how to get it where it cannot be downloaded"
    )
    sources: dict[str, Source]
    splits: dict[str, Split] = Field(description="train, dev and test, or all")
    custom_split: bool = Field(False, description="the split is ours, for there is no official one")
    derived: dict[str, Derived] = Field({}, description="layers made of others that were read")
    relation_texts: RelationTexts | None = Field(
        None, description="documents whose classes are the relations of those that were read"
    )
    layers: tuple[str, ...] = Field((), description="annotation that is kept; all if none is named")
    drop: tuple[Drop, ...] = ()
    prompts: dict[str, LabelPrompt] = Field({}, description="how labels are read, by layer")
    counts: dict[str, dict[str, int]] = Field({}, description="by split; all: of all together")
    reported: str = Field("", description="what the papers say of it")
    comparability: str = Field("", description="what is not comparable")

    @model_validator(mode="after")
    def _check_references(self) -> Self:
        """Refuse splits with an unknown name or source, and counts of an unknown split."""
        if not {"train", "dev", "test", ALL}.issuperset(self.splits):
            raise ValueError(f"splits are train, dev, test or all, got {', '.join(self.splits)}")
        self._check_sources()
        self._check_derived()
        for name in self.counts:
            if name not in {ALL, *self.splits}:
                raise ValueError(f"counts of {name!r}, which is no split")
        return self

    def _check_sources(self) -> None:
        """Raise ``ValueError`` for a source that a split or another source names in vain."""
        for name, split in self.splits.items():
            for source_name in split.source_names:
                if source_name not in self.sources:
                    choices = ", ".join(self.sources)
                    problem = f"no source {source_name!r} (there are: {choices})"
                    raise ValueError(f"split {name}: {problem}")
        for name, source in self.sources.items():
            if source.sentences and source.sentences not in self.sources:
                raise ValueError(f"source {name}: no source {source.sentences!r}")

    def _check_derived(self) -> None:
        """Refuse spans that are derived from a layer that is kept, or derived from twice."""
        for name, rule in self.derived.items():
            taken = [other.layer for other in self.derived.values()]
            if rule.words:  # it has ids of its own
                continue
            if rule.layer in (self.layers or taken) or taken.count(rule.layer) > 1:
                raise ValueError(f"derived layer {name}: layer {rule.layer!r} is kept beside it")


def names() -> list[str]:
    """Return the sorted names of the datasets that have a card."""
    entries = resources.files(__package__).joinpath("cards").iterdir()
    return sorted(
        entry.name.removesuffix(ENDING) for entry in entries if entry.name.endswith(ENDING)
    )


def load(name: str) -> Card:
    """Return a card; raises ``NameNotFound``, and ``RecipeError`` for an invalid card."""
    return parse(text(name), f"{name}{ENDING}")


def text(name: str) -> str:
    """Return the YAML text of a card; raises ``NameNotFound``."""
    if name not in names():
        raise NameNotFound("dataset", name, names())
    return resources.files(__package__).joinpath("cards", f"{name}{ENDING}").read_text("utf-8")


def parse(yaml_text: str, file_name: str) -> Card:
    """Parse the YAML text of a card; raises ``RecipeError`` with the line of the problem."""
    loaded = yaml.loads(yaml_text, file_name)
    return validate_options(Card, _require_mapping(loaded.data), loaded.location)


def _require_mapping(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise SourceLocation("card").error(f"expected a mapping, got {data!r:.60}")
    return data
