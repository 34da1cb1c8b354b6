"""The reference scorer of CoNLL-2012, version 8.01 (Pradhan et al., 2014).

Each of its five measures by itself, over all documents; where there are several, by document too.
Percentages are cut off after two digits, not rounded; what they are computed from has fifteen.

It departs from the definitions where a mention is in several clusters: in the key its home is the
last; in the response it stays in the first, if the key has it, and more than ten that are repeated
so are refused. MUC's links and B³'s shares are counted by mentions of the response, in their order,
so that sums of fractions end in the same digits.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.forms.coreference_column import Mention
from spanloom.metrics.assignment import best
from spanloom.metrics.blanc import Blanc, blanc
from spanloom.metrics.coreference import Shares, ceaf_m, homes, likeness, mentions, muc
from spanloom.metrics.counts import Counts
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._coreference import Part, pairs, table

REPEATED = 10  # mentions of the response that may stand there once more

_Clusters = list[list[Mention]]
_AVERAGED = ("muc", "bcub", "ceafe")


@dataclass(frozen=True, slots=True)
class Measures:
    """What the program counts, in some documents."""

    mentions: Shares = Shares()
    muc: Shares = Shares()
    bcub: Shares = Shares()
    ceafm: Shares = Shares()
    ceafe: Shares = Shares()
    blanc: Blanc = Blanc()

    def __add__(self, other: "Measures") -> "Measures":
        """Return the sum of both, as if their documents were one set."""
        return Measures(
            self.mentions + other.mentions,
            self.muc + other.muc,
            self.bcub + other.bcub,
            self.ceafm + other.ceafm,
            self.ceafe + other.ceafe,
            self.blanc + other.blanc,
        )


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return every measure's numbers, laid out as the fixtures have them."""
    documents = pairs(gold, predicted)
    spare = REPEATED
    found: dict[str, Measures] = {}
    for name, (key, response) in documents.items():
        clusters = key.clusters()
        kept, dropped = _once(clusters, response.clusters())
        if len(dropped) > spare:
            _refuse(response, dropped[spare])
        spare -= len(dropped)
        found[name] = _measures(clusters, kept)
    whole = sum(found.values(), Measures())
    totals = _layout(whole)
    scores: Scores = {"muc": totals["muc"]}
    if len(found) > 1:
        scores["per_document"] = {name: _layout(each) for name, each in found.items()}
    return scores | totals | {"conll_average": _average(whole, totals)}


def _once(key: _Clusters, response: _Clusters) -> tuple[_Clusters, list[Mention]]:
    """The response without repetitions of the key's mentions, and those."""
    wanted, seen = homes(key).keys(), set()
    kept: _Clusters = []
    dropped: list[Mention] = []
    for cluster in response:
        kept.append([])
        for mention in cluster:
            if mention in seen:
                dropped.append(mention)
                continue
            kept[-1].append(mention)
            if mention in wanted:
                seen.add(mention)
    return [each for each in kept if each], dropped


def _refuse(part: Part, mention: Mention) -> None:
    problem = f"expected at most {REPEATED} mentions that repeat one of the key, got one more"
    raise FormatError(part.path, part.lines[mention.start], problem)


def _measures(key: _Clusters, response: _Clusters) -> Measures:
    """All measures of one document."""
    links = muc(key, response)
    return Measures(
        mentions(key, response),
        Shares(links.precision_num, links.recall_den, links.precision_num, links.precision_den),
        _b_cubed(key, response),
        ceaf_m(key, response),
        _ceaf_e(key, response),
        blanc(key, response),
    )


def _b_cubed(key: _Clusters, response: _Clusters) -> Shares:
    """Both sides mention by mention of the response."""
    home = homes(key)
    recall = precision = 0.0
    for cluster in response:
        common = Counter(home[mention] for mention in cluster if mention in home)
        for mention in cluster:
            if mention in home:
                size = common[home[mention]]
                recall += size / len(key[home[mention]])
                precision += size / len(cluster)
    return Shares(recall, sum(map(len, key)), precision, sum(map(len, response)))


def _ceaf_e(key: _Clusters, response: _Clusters) -> Shares:
    """The sum of what is left of 1 without what two clusters lack, and so rounded."""
    alike = likeness(key, response)
    found = sum(1 - (1 - alike[pair]) for pair in best(alike).items())
    return Shares(found, len(key), found, len(response))


def _layout(measures: Measures) -> Scores:
    """The numbers of every measure as they are printed."""
    shares = {name: getattr(measures, name) for name in ("muc", "bcub", "ceafm", "ceafe")}
    found = _shown(measures.mentions)
    scores: Scores = {
        name: {"mentions": found, "coreference": _shown(each)} for name, each in shares.items()
    }
    means = measures.blanc.prf
    both = Shares(means.recall, 1, means.precision, 1)
    scores["blanc"] = {
        "mentions": found,
        "coreference_links": _shown(_shares(measures.blanc.coreference)),
        "non_coreference_links": _shown(_shares(measures.blanc.non_coreference)),
        "blanc": _shown(both) | {"f1": _percent(means.f1)},
    }
    return scores


def _shares(counts: Counts) -> Shares:
    return Shares(counts.hits, counts.gold, counts.hits, counts.predicted)


def _shown(shares: Shares) -> dict[str, float]:
    """What recall and precision are computed from, and the percentages."""
    return {
        "recall_num": _printed(shares.recall_num),
        "recall_den": _printed(shares.recall_den),
        "recall": _percent(shares.recall),
        "precision_num": _printed(shares.precision_num),
        "precision_den": _printed(shares.precision_den),
        "precision": _percent(shares.precision),
        "f1": _percent(shares.f1),
    }


def _percent(ratio: float) -> float:
    """A ratio in percent, cut off after two digits."""
    return _printed(int(ratio * 10000) / 100)


def _printed(number: float) -> float:
    """The number as fifteen digits show it, without a fraction where that is zero."""
    shown = float(f"{number:.15g}")
    return int(shown) if shown.is_integer() else shown


def _average(whole: Measures, scores: Scores) -> Scores:
    """The mean F1 of MUC, B³ and CEAFe: of those printed, and of those computed."""
    computed = {name: _f1(getattr(whole, name)) for name in _AVERAGED}
    return {
        "from_printed_f1": _mean(scores[name]["coreference"]["f1"] for name in _AVERAGED),
        "from_fractions": _mean(computed.values()),
        "f1_from_fractions": computed,
    }


def _f1(shares: Shares) -> float:
    """F1 in percent, of the fractions as they are printed."""
    ends = (shares.recall_num, shares.recall_den, shares.precision_num, shares.precision_den)
    printed = Shares(*map(_printed, ends))
    both = printed.precision + printed.recall
    return 200 * printed.precision * printed.recall / both if both else 0.0


def _mean(numbers: Iterable[float]) -> float:
    return sum(numbers) / len(_AVERAGED)


def _table(scores: Scores) -> str:
    rows = {"mentions": scores["muc"]["mentions"]}
    rows |= {name: scores[name]["coreference"] for name in ("muc", "bcub", "ceafm", "ceafe")}
    rows["blanc"] = scores["blanc"]["blanc"]
    return table(rows, f"CoNLL average: {scores['conll_average']['from_printed_f1']:.2f}")


KIND = Scorer("conll2012-coref", score, _table)
