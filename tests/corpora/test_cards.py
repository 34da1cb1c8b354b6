"""Every card says only what can be: formats, options, rules, licences that agree."""

import re

import pytest

from spanloom import formats, scoring, tasks
from spanloom.config import registry
from spanloom.config.yaml import SourceLocation
from spanloom.corpora import card as cards
from spanloom.corpora.raw_files import TEXT
from spanloom.data.instance_readers import ChoiceReader
from spanloom.data.instances import Prompt
from spanloom.errors import NameNotFound, RecipeError
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("char-class", "newline")
OPEN = re.compile(r"CC BY(-SA)? \d|MIT$|public domain$")
METRICS = {
    *(name.replace("_", "-") for name in registry.names(scoring.__path__)),
    *("conlleval", "conll2012-coref", "coval-lea", "evalb", "semeval2010-task8", "ud-eval"),
    *("srl-eval", "tacred", "squad-v1.1", "squad-v2.0", "streuseval", "carb", "glue"),
    *("spans", "relations", "orl", "absa", "changpinyo", "oie2016", "perplexity"),
}


def read_in_lower_case(text):
    """The words of a prompt; a piece is the number that a word's letters spell, whatever case."""
    words = tuple(text[a:b] for a, b in SPLIT(text).words)
    return Prompt(words, tuple((int.from_bytes(word.lower().encode()),) for word in words))


@pytest.mark.parametrize("name", cards.names())
def test_a_card_says_what_can_be(name):
    card = cards.load(name)
    assert card.title
    assert card.citation
    assert card.homepage.startswith("https://")
    assert set(card.tasks) <= set(registry.names(tasks.__path__))
    assert card.metric in METRICS
    used = {source for rule in card.splits.values() for source in rule.source_names}
    used |= {source.sentences for source in card.sources.values()} - {""}
    assert used == set(card.sources)
    for rule in card.splits.values():
        assert not rule.same_names_as or rule.same_names_as in cards.names()
        assert not rule.names_not_in or rule.names_not_in in cards.names()
    for prompt in card.prompts.values():
        ChoiceReader(tuple(prompt.verbalizer.values()), prompt.prompt).check(read_in_lower_case)
    for source in card.sources.values():
        if source.format not in (formats.BRAT, TEXT):
            formats.validate_format_options(
                formats.load(source.format), source.options, SourceLocation(name)
            )
        assert source.sha256 or card.download_instructions, (
            "files at hand have a sum, others say how to get them"
        )


@pytest.mark.parametrize("name", cards.names())
def test_what_may_be_passed_on_follows_from_the_licence(name):
    card = cards.load(name)
    free = bool(OPEN.match(card.license)) and "NC" not in card.license
    assert card.may_share_weights == free
    assert card.may_share_data or not card.may_share_weights


def test_a_card_that_is_not_there_names_the_nearest():
    with pytest.raises(NameNotFound, match="wnut17"):
        cards.load("wnut16")


SMALL = """\
title: t
homepage: https://example.org
license: MIT
may_share_data: true
may_share_weights: true
citation: c
tasks: [entities]
metric: spans
sources:
  a: {files: [a.txt], format: brat}
splits:
  train: {source: a}
"""
DERIVED = "derived: {b: {layer: a, head_upos: [PROPN]}}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{source: a}", "{source: b}", "no source 'b'"),
        ("  train:", "  valid:", "train, dev, test or all"),
        ("format: brat", "format: brat, sentences: b", "source a: no source 'b'"),
        ("metric: spans", "metric: spans\ncounts: {dev: {words: 1}}", "'dev', which is no split"),
        ("metric: spans", "metrics: spans", "metrics"),
        ("metric: spans", f"metric: spans\n{DERIVED}", "derived layer b: layer 'a' is kept"),
        ("metric: spans", f"metric: spans\nlayers: [a, b]\n{DERIVED}", "'a' is kept beside it"),
        ("{source: a}", "{source: a, fraction: {low: 0, high: 2}}", "high"),
        (SMALL, "- a list", "expected a mapping"),
    ],
)
def test_a_broken_card_is_refused(old, new, message):
    assert cards.parse(SMALL, "small").title == "t"
    with pytest.raises(RecipeError, match=re.escape(message)):
        cards.parse(SMALL.replace(old, new), "small")
