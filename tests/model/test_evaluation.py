"""What evaluation says beside the scores."""

from types import SimpleNamespace

from spanloom.model.evaluation import _attribute_names


def test_attributes_that_are_learnt_and_not_scored_are_named():
    vocabulary = {"attributes": {"Negated": [""]}, "relation_attributes": {"Certainty": ["high"]}}
    assert _attribute_names(SimpleNamespace(vocabulary=vocabulary)) == ["Certainty", "Negated"]
    assert _attribute_names(SimpleNamespace(vocabulary={})) == []
