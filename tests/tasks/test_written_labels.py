"""The labels that a task says it writes are those of its annotations, however it learns them."""

import pytest
from sample_batches import layer_of, make, train_of
from test_shapes import GAPS, TWICE

from spanloom.tasks import load

SEVERAL = {"multi_label": True, "discontinuous": True}


@pytest.mark.parametrize(
    ("name", "gold", "options"),
    [
        ("constituency", None, {}),
        ("sequence_tagging", None, {"scheme": "BIOES"}),
        ("sequence_tagging", None, {"scheme": "BIO"}),
        ("entities", None, {}),
        ("relations", [TWICE, GAPS], SEVERAL),
        ("relations", [TWICE], {"multi_label": True}),
    ],
)
def test_written_labels_are_those_of_gold(name, gold, options):
    kind = load(name)
    gold = gold or [kind.example]
    layer = layer_of(gold[0])
    vocabulary = kind.infer_vocabulary(kind.options(**options), layer, train_of(gold))
    written = make(kind, gold, **options).written_vocabulary(vocabulary)
    layers = [document[layer] for document in gold]
    assert set(written["span_labels"]) == {span.label for part in layers for span in part.spans}
    assert len(set(written["span_labels"])) == len(written["span_labels"])
    relations = {relation.label for part in layers for relation in part.relations}
    assert set(written.get("relation_labels", ())) == relations
