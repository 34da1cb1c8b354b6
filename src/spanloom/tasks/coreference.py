"""Coreference: mentions, each of which chooses an antecedent or none (SpanRel, table 2; HMTL).

A layer has mentions, and relations or equivalences between those that mean the same: whatever they
connect is a cluster. What is written are relations from each mention to its antecedent. Clusters
are measured as CoNLL-2012 does (``metrics.clusters``).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from spanloom.data.readings import Reading, Sentences
from spanloom.data.units import Cut, Unit
from spanloom.document import MAIN, Document, Layer, Relation, Span
from spanloom.forms.links import linked
from spanloom.forms.voices import genre, speakers
from spanloom.metrics.clusters import score
from spanloom.nn.choices import ChoiceLoss
from spanloom.nn.pairs import Beside, Pairing
from spanloom.nn.span_relation import Prune, SpanRelation, View, in_order
from spanloom.structs.selection import uncrossed
from spanloom.tasks._base import Kind, Train, labels_of
from spanloom.tasks._inventory import SpanOptions, collect_inventory, inventory
from spanloom.tasks._span_relation import SpanRelationTask, choices
from spanloom.tasks._spans import Gold, lay
from spanloom.tensors import Batch, Chosen, Linked, SpanTargets, Told, Vectors
from spanloom.words import Bounds

_ALONE = 0.01  # of train's mentions: where fewer stand alone, none is predicted to
_USUAL = "coref"  # what links are called where train has equivalences alone

_SAMPLE = Document(
    "Ada met Bob .\nShe saw him there .\nBob slept .",
    (
        Layer(
            MAIN,
            (
                Span("T1", "mention", ((0, 3),)),
                Span("T2", "mention", ((8, 11),)),
                Span("T3", "mention", ((14, 17),)),
                Span("T4", "mention", ((22, 25),)),
                Span("T5", "mention", ((34, 37),)),
            ),
            (
                Relation("R1", "coref", "T3", "T1"),
                Relation("R2", "coref", "T4", "T2"),
                Relation("R3", "coref", "T5", "T4"),
            ),
        ),
    ),
    "sample",
)


class MentionOptions(SpanOptions):
    """Options of coreference."""

    paper: ClassVar[Mapping[str, float]] = {"width": 10, "prune": 0.4}

    prune: float = Field(0.4, gt=0, description="mentions kept, times the document's words")
    nearest: int = Field(50, ge=1, le=1000, description="antecedents looked at, before a mention")
    mentions: bool = Field(True, description="a link's score counts how sure both mentions are")
    pages: int = Field(4, ge=1, le=64, description="windows that training reads at once")
    given: bool = Field(False, description="gold mentions are given, links are predicted")
    speakers: bool = Field(True, description="whether to read who speaks, where train says that")
    genre: int | None = Field(
        None, ge=0, le=20, description="which part of a document's name, by _ and /, is its genre"
    )


@dataclass(frozen=True, slots=True)
class MentionGold(Gold):
    """Mentions and links, and of each word who says it: a number within the document, 0 unknown."""

    voices: tuple[int, ...] = ()
    genre: int = 0


@dataclass(frozen=True, slots=True)
class MentionTargets(SpanTargets):
    """Mentions and links of a batch, and what is told beside its words."""

    told: Told | None = None

    def to(self, device: torch.device) -> "MentionTargets":
        """Return the same targets on another device."""
        told = None if self.told is None else self.told.to(device)
        return MentionTargets.of(SpanTargets.to(self, device), told)

    @classmethod
    def of(cls, plain: SpanTargets, told: Told | None) -> "MentionTargets":
        """Return plain targets with what is told."""
        values = plain.values, plain.pair_values
        return cls(plain.bounds, plain.labels, plain.pairs, *values, plain.looked, told)


@dataclass(frozen=True, slots=True)
class CoreferenceTask(SpanRelationTask):
    """Mentions of a whole unit; each chooses among those before it."""

    links_to: Pairing = Pairing()
    singletons: bool = True
    voices: bool = False
    part: int | None = None
    genres: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ``DataError`` also where links have no name."""
        SpanRelationTask.__post_init__(self)
        labels_of(self.name, self.inventory.relations)

    @property
    def pairing(self) -> Pairing:
        """Each mention with the nearest before it."""
        return self.links_to

    @property
    def beside(self) -> Beside:
        """Mentions are far apart, so that nothing is read between them."""
        genres = 0 if self.part is None else 1 + len(self.genres)
        return Beside(between=False, voices=self.voices, genres=genres)

    @property
    def watched(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("conll", "muc", "b_cubed", "ceaf_e", "spans", "conll_singletons")

    def gold_pairs(
        self, layer: Layer, where: Mapping[str, int]
    ) -> dict[tuple[int, int], tuple[int, str]]:
        """All earlier mentions of a cluster are right; pairs are (antecedent, mention)."""
        pairs: dict[tuple[int, int], tuple[int, str]] = {}
        for cluster in linked(layer):
            rows = sorted({where[key] for key in cluster if key in where})
            pairs |= dict.fromkeys(combinations(rows, 2), (1, ""))
        return pairs

    def remarks(
        self, train: Train, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, Gold]
    ) -> list[str]:
        """Say how much there is to learn from; links may cross sentences."""
        mentions = sum(len(each.spans) for each in gold.values())
        links = sum(len(each.pairs) for each in gold.values())
        counts = f"{len(gold)} documents, {mentions} mentions, {links} pairs that mean the same"
        return [f"{self.name}: {counts}"]

    def gold(self, document: Document, cut: Cut) -> MentionGold:
        """Express a layer over words, with who says these, and the document's genre."""
        found = SpanRelationTask.gold(self, document, cut)
        return self._beside(document, cut, found)

    def told(self, document: Document, cut: Cut) -> MentionGold | None:
        """Express what is known beside words, and mentions where these are given."""
        if self.inputs:
            return self.gold(self.bared(document), cut)
        return self._beside(document, cut, Gold()) if self.voices or self.genres else None

    def _beside(self, document: Document, cut: Cut, found: Gold) -> MentionGold:
        said = speakers(document, cut.words) if self.voices else ()
        numbers = {name: row for row, name in enumerate(dict.fromkeys(("", *said)))}
        kind = "" if self.part is None else genre(document.name, self.part)
        row = self.genres.index(kind) + 1 if kind in self.genres else 0
        mentions = found.spans, found.pairs, found.values, found.pair_values, found.looked
        return MentionGold(*mentions, tuple(numbers[each] for each in said), row)

    def targets(self, units: Sequence[Unit], gold: Mapping[int, Any]) -> MentionTargets:
        """Lay the gold of some units flat, as ``collate`` lays their words."""
        own = [(gold[unit.document], unit.first, len(unit.forms)) for unit in units]
        voices = [v for each, first, n in own for v in each.voices[first : first + n] or (0,) * n]
        genres = [each.genre for each, _, n in own for _ in range(n)]
        told = Told(torch.tensor(voices, dtype=torch.long), torch.tensor(genres, dtype=torch.long))
        known = self.voices or self.genres
        return MentionTargets.of(lay(units, gold), told if known else None)

    def view(
        self, head: SpanRelation, vectors: Vectors, batch: Batch, targets: SpanTargets | None
    ) -> View:
        """Return what the head reads, with what is told beside words."""
        plain = SpanRelationTask.view(self, head, vectors, batch, targets)
        return replace(plain, told=getattr(targets, "told", None))

    def reach(self, batch: Batch) -> Int[Tensor, "run 2"]:
        """Return the units: links cross sentences."""
        return batch.units

    def select(
        self,
        head: SpanRelation,
        view: View,
        bounds: Int[Tensor, "span 2"],
        scores: Float[Tensor, "span label"],
    ) -> Int[Tensor, " kept"]:
        """Rows of the K likeliest mentions of a unit that do not cross; antecedents decide."""
        rows = in_order(bounds, head.keep(scores, bounds, view.reach))
        gain = scores[rows, 1:].amax(-1) - scores[rows, 0]
        fit = uncrossed([(a, b) for a, b in bounds[rows].tolist()], gain.tolist())
        return rows[torch.tensor(fit, dtype=torch.long, device=rows.device)]

    def related(
        self, head: SpanRelation, view: View, chosen: Chosen, types: Float[Tensor, "kept type"]
    ) -> tuple[Chosen, Linked]:
        """Return mentions and their antecedents; a mention alone stays where train has such."""
        found = self.links(head, view, chosen, types)
        needed = (types[:, 1:].amax(-1) > types[:, 0]) & (self.singletons or self.given)
        needed[found.ends.flatten()] = True
        place = needed.cumsum(0) - 1
        return chosen.rows(needed), replace(found, ends=place[found.ends])

    def links(
        self, head: SpanRelation, view: View, chosen: Chosen, types: Float[Tensor, "kept type"]
    ) -> Linked:
        """Let each mention choose an antecedent; a link leads from it to that."""
        found = choices(head, view, chosen, types, self.relatable)
        return replace(found, ends=found.ends.flip(1))

    def measure(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Any:
        """Score clusters, whoever was linked to whom, and mentions: ``metrics.clusters.Report``."""
        return score(gold, predicted, self.layer)

    def figures(self, report: Any) -> dict[str, float]:
        """Return the CoNLL average first, what it is the mean of, and others."""
        found: dict[str, float] = report.figures()
        return found

    def unknown(self, documents: Sequence[Document]) -> set[str]:
        """Return labels of mentions that train did not have; how links are called is no matter."""
        spans = {span.label for each in documents for span in each[self.layer].spans}
        return spans - set(self.inventory.spans)


def _collect(options: MentionOptions, layer: str, train: Train) -> dict[str, Any]:
    found = collect_inventory(options, layer, train, relations=False)
    clustered = sum(len(cluster) for each, _ in train for cluster in linked(each[layer]))
    mentions = sum(len(each[layer].spans) for each, _ in train)
    names = Counter(each.label for document, _ in train for each in document[layer].relations)
    usual = names.most_common(1)[0][0] if names else _USUAL
    alone = mentions - clustered > _ALONE * mentions
    return {
        **replace(found, relations=(usual,)).to_dict(),
        "singletons": alone,
        "voices": options.speakers and any(any(speakers(*each)) for each in _words(train)),
        "genres": _genres(options.genre, train),
    }


def _words(train: Train) -> Iterator[tuple[Document, Sequence[Bounds]]]:
    return ((document, cut.words) for document, cut in train)


def _genres(part: int | None, train: Train) -> list[str]:
    names = () if part is None else (genre(document.name, part) for document, _ in train)
    return sorted({name for name in names if name})


def _make(
    name: str,
    layer: str,
    options: MentionOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> CoreferenceTask:
    return CoreferenceTask(
        name,
        layer,
        Reading(Sentences(), pages=options.pages),
        options,
        inventory(collected),
        Prune(options.prune),
        options.given,
        links_to=Pairing(
            left=True,
            nearest=options.nearest,
            mentions=options.mentions,
            loss=ChoiceLoss(dummy=True),
        ),
        singletons=bool(collected["singletons"]),
        voices=bool(collected["voices"]),
        part=options.genre,
        genres=tuple(collected["genres"]),
    )


KIND = Kind(MentionOptions, _collect, _make, _SAMPLE)
