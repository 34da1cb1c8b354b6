"""Options that the proposer switches on where annotations need them, and nowhere else."""

from dataclasses import replace

import pytest

from spanloom import tasks
from spanloom.document import MAIN, Argument, Document, Event, Layer, Relation, Span
from spanloom.tokenization import word_tokenizer
from spanloom.training.layer_kinds import samples, suggest, suggestion
from spanloom.training.layer_shapes import proposed_kind, with_shapes

SPLIT = word_tokenizer("char-class", "newline")
TEXT = "Ada met Bob there .\nCleo slept ."
ADA, BOB, CLEO = ((0, 3),), ((8, 11),), ((20, 24),)


def document(*spans, **others):
    made = tuple(Span(f"T{row}", label, bounds) for row, (label, bounds) in enumerate(spans, 1))
    return Document(TEXT, (Layer(MAIN, made, **others),), "a")


PLAIN = document(("person", ADA), ("dog", BOB), relations=(Relation("R1", "met", "T1", "T2"),))


def proposed(*documents, kind=None):
    (sample,) = samples(documents).values()
    first = suggest(sample) if kind is None else suggestion(kind, "as asked")
    suggested = with_shapes(first, sample, SPLIT, keep_kind=kind is not None)
    assert kind is not None or proposed_kind(sample) == suggested.kind
    return suggested


TWICE = document(("person", ADA), ("writer", ADA))
GAPS = document(("verb", (*ADA, *BOB)), ("noun", CLEO))
ACROSS = document(("person", ADA), ("dog", CLEO), relations=(Relation("R1", "met", "T1", "T2"),))
EVENTS = document(
    ("meet", ADA),
    ("dog", BOB),
    ("dog", CLEO),
    events=(
        Event("E1", "meet", "T1", (Argument("With", "T2"),)),
        Event("E2", "meet", "T1", (Argument("With", "T3"),)),
    ),
)


@pytest.mark.parametrize(
    ("case", "kind", "options", "reason"),
    [
        (TWICE, "entities", {"multi_label": True}, "1 span of 2 are other labels on the same"),
        (GAPS, "relations", {"discontinuous": True}, "1 span of 2 have gaps"),
        (ACROSS, "relations", {"relation_scope": "document"}, "1 relation of 1 cross sentences"),
        (EVENTS, "relations", {"several_events": True}, "1 event of 2 are not the first"),
    ],
)
def test_what_the_data_needs_is_proposed(case, kind, options, reason):
    suggested = proposed(case)
    assert suggested.kind == kind
    plain = suggestion(kind, "").options
    needed = {key: value for key, value in suggested.options.items() if key not in plain}
    if case is EVENTS:  # which crosses sentences, too
        assert needed.pop("relation_scope") == "document"
    assert needed == options
    assert reason in suggested.reason
    tasks.load(kind).options(**suggested.options)  # options that exist


def test_nothing_is_proposed_where_nothing_or_next_to_nothing_needs_it():
    for documents in ([PLAIN], [PLAIN] * 150 + [TWICE, GAPS], [PLAIN] * 25 + [ACROSS]):
        assert proposed(*documents).options == suggestion("relations", "").options


def test_other_kinds_and_kinds_that_were_asked_for_stay():
    assert proposed(GAPS, kind="entities").kind == "entities"
    assert proposed(GAPS, kind="entities").options == {}
    assert proposed(TWICE, kind="pos") == suggestion("pos", "as asked")


def test_labels_that_cannot_be_joined_are_not():
    odd = document(("a & b", ADA), ("c", ADA))
    assert proposed(odd).options == {}


def test_the_proposal_and_its_dry_run_say_it(tmp_path):
    from spanloom.formats import jsonl
    from spanloom.training.auto_recipe import propose_recipe, with_comments

    documents = [replace(TWICE, name=f"d{row}") for row in range(4)]
    jsonl.write(tmp_path / "a.jsonl", documents)
    proposal = propose_recipe(tmp_path / "a.jsonl", "a.jsonl")
    (line,) = proposal.lines()
    assert "multi_label: true, as 4 spans of 8 are other labels on the same words" in line
    assert proposal.recipe.tasks["a"].options["multi_label"] is True
    assert "multi_label: true" in with_comments(proposal.recipe, proposal.notes)
