"""Files of annotation tools keep the names of documents, and the tools' own ids beside them."""

import json

import pytest

from spanloom.document import Document, Layer, Span
from spanloom.formats import doccano, labelstudio, prodigy

FORMATS = {"doccano": doccano, "labelstudio": labelstudio, "prodigy": prodigy}
NAMES = ("articles/a-12", "7", "s00003", "é.x", "-1")


def loaded(form, text):
    return list(FORMATS[form].loads(text))


@pytest.mark.parametrize("form", FORMATS)
def test_names_come_back(form):
    layer = Layer("entities", (Span("T1", "PER", ((0, 3),)),))
    written = FORMATS[form].dumps([Document("Ada", (layer,), name) for name in NAMES])
    documents = loaded(form, written)
    assert [document.name for document in documents] == list(NAMES)
    assert FORMATS[form].dumps(documents) == written


@pytest.mark.parametrize("form", FORMATS)
def test_a_name_that_no_file_could_have_comes_back_too(form):
    written = FORMATS[form].dumps([Document("Ada", (), "a")]).replace('"a"', '"../a"')
    (document,) = loaded(form, written)
    assert document.name == "__/a"
    assert FORMATS[form].dumps([document]) == written


@pytest.mark.parametrize("number", [17, 0])
@pytest.mark.parametrize("form", FORMATS)
def test_the_id_that_a_tool_gave_stays_beside_the_name(form, number):
    record = {"id": number, "text": "Ada", "document_name": "a"}
    if form == "labelstudio":
        record = {"id": number, "data": {"text": "Ada", "document_name": "a"}, "annotations": []}
    text = json.dumps([record] if form == "labelstudio" else record)
    (document,) = loaded(form, text)
    assert document.name == "a"
    (again,) = loaded(form, FORMATS[form].dumps([document]))
    assert again == document
    back = json.loads(FORMATS[form].dumps([document]))
    assert (back[0] if form == "labelstudio" else back)["id"] == number
