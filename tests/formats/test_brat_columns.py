"""brat files of annotations held as columns are those of the same annotations as objects."""

from dataclasses import replace

import numpy as np

from spanloom.annotation_columns import RelationColumns, SpanColumns
from spanloom.annotation_ids import IdRange
from spanloom.document import Attribute, Document, Layer
from spanloom.formats.brat import write
from spanloom.formats.brat.conf_from_documents import config_of

TEXT = "Ada met\nBob. She left."


def columns(first=1, names=("a", "main")):
    """Return two layers of columns whose ids begin at ``first``."""
    spans = SpanColumns(
        IdRange("T", first, 3),
        ("person", "act"),
        np.array([0, 1, 0]),
        np.array([0, 4, 4]),
        np.array([3, 7, 11]),
        np.array([0.5, np.nan, 1]),
    )
    more = replace(spans, ids=IdRange("T", first + 3, 3))
    relations = RelationColumns(
        IdRange("R", first, 2),
        ("who",),
        np.array([0, 0]),
        np.array([1, 1]),
        np.array([0, 2]),
        spans.ids,
    )
    return Layer(names[0], spans, relations), Layer(names[1], more)


def as_objects(layer):
    return replace(layer, spans=tuple(layer.spans), relations=tuple(layer.relations))


def test_lines_and_configuration_are_the_same():
    layers = columns()
    document = Document(TEXT, layers)
    plain = Document(TEXT, tuple(map(as_objects, layers)))
    assert write.parts(document) == write.parts(plain)
    assert "T3\ta__person 4 7;8 11\tmet Bob\n" in write.dumps(document)
    assert config_of([document]) == config_of([plain])


def test_objects_may_refer_to_columns():
    layers = columns()
    note = Layer("b", attributes=(Attribute("A1", "sure", "T2"), Attribute("A2", "sure", "T5")))
    document = Document(TEXT, (*layers, note))
    plain = Document(TEXT, (*map(as_objects, layers), note))
    assert write.parts(document) == write.parts(plain)
    assert config_of([document]) == config_of([plain])


def test_columns_of_words_that_others_refer_to_stay_in_the_file():
    layers = columns(names=("words", "main"))
    refers = RelationColumns(
        IdRange("R", 9, 1), ("x",), np.array([0]), np.array([0]), np.array([1]), IdRange("T", 1, 3)
    )
    for extra in ((), (Layer("b", relations=refers),)):
        document = Document(TEXT, (*layers, *extra))
        plain = Document(TEXT, (*map(as_objects, layers), *map(as_objects, extra)))
        assert write.parts(document) == write.parts(plain)


def test_columns_whose_ids_are_none_of_brat_get_new_ones():
    layer, _ = columns()
    renamed = replace(
        layer,
        spans=replace(layer.spans, ids=IdRange("x", 1, 3)),
        relations=replace(layer.relations, end_ids=IdRange("x", 1, 3)),
    )
    document, plain = Document(TEXT, (renamed,)), Document(TEXT, (as_objects(renamed),))
    assert write.parts(document) == write.parts(plain)
    assert "R1\ta__who Arg1:T2 Arg2:T1" in write.dumps(document)


def test_lines_beside_others_are_those_of_new_columns():
    layers = columns()
    plain = Document(TEXT, tuple(map(as_objects, layers)))
    assert write.new_lines(Document(TEXT, layers)) == write.new_lines(plain)
