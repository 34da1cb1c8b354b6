"""The reference scorer of CoNLL-2012, version 8.01 (Pradhan et al., 2014).

It scores each of its five measures over all documents, and by document if there are several.
Percentages are truncated after two digits, not rounded; their inputs have fifteen digits.

It departs from the definitions for mentions in several clusters: in the key the last cluster
counts; in the response the first, if the key has the mention, and more than ten such repetitions
are an error. MUC's links and B³'s fractions are summed by mentions of the response, in their
order, so that sums of fractions have the same last digits.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from spanloom.annotation.coreference_column import ColumnError, Mention, clusters, mentions_by_end
from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.blanc import Blanc, blanc
from spanloom.metrics.coreference import (
    best_assignment,
    ceaf_m,
    cluster_of,
    mentions,
    muc,
    phi4,
)
from spanloom.metrics.counts import Counts, PartialCounts, Summable
from spanloom.scoring._base import Scorer, Scores

_BEGIN, _END = "#begin document", "#end document"


@dataclass(frozen=True, slots=True)
class Part:
    """The coreference column of one document, with the line number of each cell."""

    path: str
    cells: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def clusters(self) -> list[list[Mention]]:
        """Return the clusters in the order of their first mentions; raises ``FormatError``."""
        try:
            return [list(cluster) for cluster in clusters(self.cells).values()]
        except ColumnError as error:
            self._raise_format_error(error)

    def clusters_by_end(self) -> list[list[Mention]]:
        """Return clusters and mentions in the order in which they end; raises ``FormatError``."""
        by_name: dict[str, list[Mention]] = {}
        try:
            for name, mention in mentions_by_end(self.cells):
                by_name.setdefault(name, []).append(mention)
        except ColumnError as error:
            self._raise_format_error(error)
        return list(by_name.values())

    def _raise_format_error(self, error: ColumnError) -> NoReturn:
        raise FormatError(self.path, self.lines[error.word], error.problem) from error


def pairs(gold: Path, predicted: Path) -> dict[str, tuple[Part, Part]]:
    """Return each gold document with its prediction, which is empty if it is missing.

    Documents are named by the text after ``#begin document``. Raises ``FormatError``.
    """
    gold_parts, predicted_parts = _read_parts(gold), _read_parts(predicted)
    if not gold_parts:
        raise FormatError(str(gold), None, f"expected a line {_BEGIN!r}, got none")
    return {
        name: (part, predicted_parts.get(name, Part(str(predicted))))
        for name, part in gold_parts.items()
    }


def table(rows: dict[str, dict[str, Any]], average: str) -> str:
    """Format recall, precision and F1 of each measure."""
    lines = [f"{'':<22}{'recall':>8}{'precision':>11}{'F1':>8}"]
    for name, row in rows.items():
        ratios = f"{row['recall']:>8.2f}{row['precision']:>11.2f}{row['f1']:>8.2f}"
        lines.append(f"{name:<22}{ratios}")
    return "\n".join([*lines, average])


def _read_parts(path: Path) -> dict[str, Part]:
    """Return the documents of a file, by name."""
    parts: dict[str, Part] = {}
    part = None
    for line_number, line in enumerate(text_of(path).split("\n"), 1):
        if line.startswith(_BEGIN):
            name = line.removeprefix(_BEGIN).strip()
            if name in parts:
                problem = f"expected each document once, got {name!r:.60} again"
                raise FormatError(str(path), line_number, problem)
            part = parts[name] = Part(str(path))
        elif line.startswith(_END):
            part = None
        elif line.strip() and not line.startswith("#"):
            if part is None:
                problem = f"expected a word between {_BEGIN!r} and {_END!r}, got {line!r:.60}"
                raise FormatError(str(path), line_number, problem)
            part.cells.append(line.rsplit(None, 1)[-1])
            part.lines.append(line_number)
    return parts


REPEATED = 10  # repeated mentions of the response that are tolerated

_Clusters = list[list[Mention]]
_AVERAGED = ("muc", "bcub", "ceafe")


@dataclass(frozen=True, slots=True)
class Measures(Summable):
    """The program's counts over some documents."""

    mentions: PartialCounts = PartialCounts()
    muc: PartialCounts = PartialCounts()
    bcub: PartialCounts = PartialCounts()
    ceafm: PartialCounts = PartialCounts()
    ceafe: PartialCounts = PartialCounts()
    blanc: Blanc = Blanc()


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return every measure's numbers, with the layout of the golden files."""
    documents = pairs(gold, predicted)
    repetitions_left = REPEATED
    by_document: dict[str, Measures] = {}
    for name, (key, response) in documents.items():
        clusters = key.clusters()
        kept, dropped = _drop_repeated(clusters, response.clusters())
        if len(dropped) > repetitions_left:
            _raise_too_many(response, dropped[repetitions_left])
        repetitions_left -= len(dropped)
        by_document[name] = _measure_document(clusters, kept)
    all_documents = sum(by_document.values(), Measures())
    scores_of_all = _to_json(all_documents)
    scores: Scores = {"muc": scores_of_all["muc"]}
    if len(by_document) > 1:
        scores["per_document"] = {
            name: _to_json(measures) for name, measures in by_document.items()
        }
    return scores | scores_of_all | {"conll_average": _conll_average(all_documents, scores_of_all)}


def _drop_repeated(key: _Clusters, response: _Clusters) -> tuple[_Clusters, list[Mention]]:
    """Return the response without repeated mentions of the key, and these repetitions."""
    key_mentions, used_mentions = cluster_of(key).keys(), set()
    kept: _Clusters = []
    dropped: list[Mention] = []
    for cluster in response:
        kept.append([])
        for mention in cluster:
            if mention in used_mentions:
                dropped.append(mention)
                continue
            kept[-1].append(mention)
            if mention in key_mentions:
                used_mentions.add(mention)
    return [cluster for cluster in kept if cluster], dropped


def _raise_too_many(part: Part, mention: Mention) -> None:
    problem = f"expected at most {REPEATED} mentions that repeat one of the key, got one more"
    raise FormatError(part.path, part.lines[mention.start], problem)


def _measure_document(key: _Clusters, response: _Clusters) -> Measures:
    """Return all measures of one document."""
    muc_counts = muc(key, response)
    return Measures(
        mentions(key, response),
        PartialCounts(
            muc_counts.precision_num,
            muc_counts.recall_den,
            muc_counts.precision_num,
            muc_counts.precision_den,
        ),
        _b_cubed(key, response),
        ceaf_m(key, response),
        _ceaf_e(key, response),
        blanc(key, response),
    )


def _b_cubed(key: _Clusters, response: _Clusters) -> PartialCounts:
    """Return B³, both sides summed over the mentions of the response."""
    key_cluster_of = cluster_of(key)
    recall = precision = 0.0
    for cluster in response:
        overlaps = Counter(
            key_cluster_of[mention] for mention in cluster if mention in key_cluster_of
        )
        for mention in cluster:
            if mention in key_cluster_of:
                overlap = overlaps[key_cluster_of[mention]]
                recall += overlap / len(key[key_cluster_of[mention]])
                precision += overlap / len(cluster)
    return PartialCounts(recall, sum(map(len, key)), precision, sum(map(len, response)))


def _ceaf_e(key: _Clusters, response: _Clusters) -> PartialCounts:
    """Return CEAFe; similarities are rounded as in the program, which sums 1 - (1 - similarity)."""
    similarity = phi4(key, response)
    similarity_sum = sum(1 - (1 - similarity[pair]) for pair in best_assignment(similarity).items())
    return PartialCounts(similarity_sum, len(key), similarity_sum, len(response))


def _to_json(measures: Measures) -> Scores:
    """Return the numbers of every measure as they are printed."""
    counts = {name: getattr(measures, name) for name in ("muc", "bcub", "ceafm", "ceafe")}
    mention_ratios = _ratio_json(measures.mentions)
    scores: Scores = {
        name: {"mentions": mention_ratios, "coreference": _ratio_json(partial_counts)}
        for name, partial_counts in counts.items()
    }
    blanc_ratios = measures.blanc.prf
    blanc_counts = PartialCounts(blanc_ratios.recall, 1, blanc_ratios.precision, 1)
    scores["blanc"] = {
        "mentions": mention_ratios,
        "coreference_links": _ratio_json(_to_partial(measures.blanc.coreference)),
        "non_coreference_links": _ratio_json(_to_partial(measures.blanc.non_coreference)),
        "blanc": _ratio_json(blanc_counts) | {"f1": _percent(blanc_ratios.f1)},
    }
    return scores


def _to_partial(counts: Counts) -> PartialCounts:
    return PartialCounts(counts.hits, counts.gold, counts.hits, counts.predicted)


def _ratio_json(counts: PartialCounts) -> dict[str, float]:
    """Return numerators and denominators of recall and precision, and the percentages."""
    return {
        "recall_num": _round_digits(counts.recall_num),
        "recall_den": _round_digits(counts.recall_den),
        "recall": _percent(counts.recall),
        "precision_num": _round_digits(counts.precision_num),
        "precision_den": _round_digits(counts.precision_den),
        "precision": _percent(counts.precision),
        "f1": _percent(counts.f1),
    }


def _percent(ratio: float) -> float:
    """Return a ratio in percent, truncated after two digits."""
    return _round_digits(int(ratio * 10000) / 100)


def _round_digits(number: float) -> float:
    """Return a number rounded to fifteen digits, as an integer if it has no fraction."""
    rounded_number = float(f"{number:.15g}")
    return int(rounded_number) if rounded_number.is_integer() else rounded_number


def _conll_average(measures: Measures, scores: Scores) -> Scores:
    """Return the mean F1 of MUC, B³ and CEAFe: of the printed and of the computed values."""
    computed = {name: _f1_percent(getattr(measures, name)) for name in _AVERAGED}
    return {
        "from_printed_f1": _mean(scores[name]["coreference"]["f1"] for name in _AVERAGED),
        "from_fractions": _mean(computed.values()),
        "f1_from_fractions": computed,
    }


def _f1_percent(counts: PartialCounts) -> float:
    """Return F1 in percent, computed from the fractions as they are printed."""
    fractions = (counts.recall_num, counts.recall_den, counts.precision_num, counts.precision_den)
    rounded_counts = PartialCounts(*map(_round_digits, fractions))
    total = rounded_counts.precision + rounded_counts.recall
    return 200 * rounded_counts.precision * rounded_counts.recall / total if total else 0.0


def _mean(numbers: Iterable[float]) -> float:
    """Return the mean over the averaged measures."""
    return sum(numbers) / len(_AVERAGED)


def _table(scores: Scores) -> str:
    """Format recall, precision and F1 of all measures."""
    rows = {"mentions": scores["muc"]["mentions"]}
    rows |= {name: scores[name]["coreference"] for name in ("muc", "bcub", "ceafm", "ceafe")}
    rows["blanc"] = scores["blanc"]["blanc"]
    return table(rows, f"CoNLL average: {scores['conll_average']['from_printed_f1']:.2f}")


KIND = Scorer("conll2012-coref", score, _table)
