"""KnowledgeNet's passages: facts between mentions, properties that annotators looked for."""

import json

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given

from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.knowledgenet import KIND, KnowledgeNetOptions, dumps, loads


def facts(found):
    cover = {span.id: found.text_of(span) for span in found["entities"].spans}
    relations = found["entities"].relations
    return [(cover[each.head], each.label, cover[each.tail]) for each in relations]


def test_facts_share_their_mentions():
    found, second, third = loads(KIND.example)
    assert (found.name, found.text) == ("8313:115:147", "He settled at Brünn, in Moravia.")
    assert dict(found.meta) == {
        "fold": "2",
        "documentId": "8313",
        "passageStart": "115",
        "annotated": '["PLACE_OF_RESIDENCE", "PLACE_OF_BIRTH"]',
    }
    assert [(each.label, found.text_of(each)) for each in found["entities"].spans] == [
        ("mention", "He"),
        ("mention", "Brünn"),
        ("mention", "Moravia"),
    ]
    assert facts(found) == [
        ("He", "PLACE_OF_RESIDENCE", "Brünn"),
        ("He", "PLACE_OF_RESIDENCE", "Moravia"),
    ]
    (link,) = found["entities"].normalizations
    assert link.target == found["entities"].spans[1].id
    assert (link.resource, link.key) == ("Wikidata", "http://www.wikidata.org/entity/Q14960")
    assert second["entities"] == Layer("entities")
    assert not third.has_layer("entities")  # no property was looked for


def test_folds_may_be_chosen():
    text = KIND.example.replace('"fold": 2', '"fold": 1', 1)
    names = {
        folds: [found.name for found in loads(text, options=KnowledgeNetOptions(folds=folds))]
        for folds in ((), (1,), (2,), (1, 2), (3,))
    }
    first, second, without = names[()]
    assert names == {
        **{(): [first, second, without], (1,): [first], (2,): [second]},
        **{(1, 2): [first, second], (3,): []},
    }


# the sample of the project's page (CC BY-SA 4.0), shortened
RELEASE = {
    "fold": 2,
    "documentId": "8313",
    "source": "DBpedia Abstract",
    "documentText": "Gennaro Basile\n\nGennaro Basile was an Italian painter, born in Naples.",
    "passages": [
        {
            "passageId": "8313:16:70",
            "passageStart": 16,
            "passageEnd": 70,
            "passageText": "Gennaro Basile was an Italian painter, born in Naples.",
            "exhaustivelyAnnotatedProperties": [
                {
                    "propertyId": "12",
                    "propertyName": "PLACE_OF_BIRTH",
                    "propertyDescription": "Describes where she/he was born.",
                }
            ],
            "facts": [
                {
                    "factId": "8313:16:30:63:69:12",
                    "propertyId": "12",
                    "humanReadable": "<Gennaro Basile> <PLACE_OF_BIRTH> <Naples>",
                    "subjectStart": 16,
                    "subjectEnd": 30,
                    "subjectText": "Gennaro Basile",
                    "subjectUri": "http://www.wikidata.org/entity/Q19517888",
                    "objectStart": 63,
                    "objectEnd": 69,
                    "objectText": "Naples",
                    "objectUri": "",
                }
            ],
        }
    ],
}


def test_documents_of_the_release_are_read_as_passages():
    (found,) = loads(json.dumps(RELEASE))
    assert (found.name, found.text) == ("8313:16:70", RELEASE["passages"][0]["passageText"])
    assert dict(found.meta)["annotated"] == '["PLACE_OF_BIRTH"]'
    assert facts(found) == [("Gennaro Basile", "PLACE_OF_BIRTH", "Naples")]
    assert [each.key[-9:] for each in found["entities"].normalizations] == ["Q19517888"]
    assert list(loads(dumps([found]))) == [found]
    fact = RELEASE["passages"][0]["facts"][0] | {"propertyId": "9"}
    passage = RELEASE["passages"][0] | {"facts": [fact]}
    with pytest.raises(FormatError, match=r":1: propertyId: expected one of 12, got '9'"):
        list(loads(json.dumps(RELEASE | {"passages": [passage]})))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"passageText": None}, "expected a string, got None"),
        ({"passageStart": -1}, "passageStart: expected a number from 0, got -1"),
        ({"fold": "1"}, "expected a whole number, got '1'"),
        ({"annotated": [7]}, "expected a string, got 7"),
        ({"facts": [{}]}, "expected the key 'subject', got none"),
        (
            {"facts": [{"subject": [0, 1]}]},
            "facts[0].subject: expected [START, END, TEXT, ADDRESS]",
        ),
        ({"facts": [{"subject": [0, 1, "b", None]}]}, "expected the text 'a' of 0..1, got 'b'"),
        ({"facts": [{"subject": [0, 9, "a b", None]}]}, "facts[0].subject: expected the text"),
        ({"facts": [{"subject": [0, 1, "a", ""]}]}, "expected an address or null, got ''"),
        ({"passage": ""}, "unknown key 'passage'; known: fold, documentId, passageStart"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(changed, problem):
    said = {
        **{"fold": 1, "documentId": "k", "passageStart": 0},
        **{"passageText": "a b", "annotated": [], "facts": []},
    }
    assert len(list(loads(json.dumps(said)))) == 1
    text = "\n" + json.dumps(said | changed)
    with pytest.raises(FormatError, match=r"^in\.json:2: ") as caught:
        list(loads(text, path="in.json"))
    assert problem in caught.value.problem


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300


def test_the_files_at_hand_are_written_as_they_stand(data):
    text = (data("knowledgenet") / "train.jsonl").read_text(encoding="utf-8")
    assert same_again(KIND, text)
    unlabelled = (data("knowledgenet") / "test-no-facts.json").read_text(encoding="utf-8")
    found = list(loads(unlabelled))
    assert not any(document.layers for document in found)
    assert list(loads(dumps(found))) == found


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


def test_relations_of_any_document_are_facts():
    spans = Span("T1", "X", ((0, 1),)), Span("T2", "mention", ((2, 3),))
    relations = Relation("R1", "r s", "T1", "T2"), Relation("R2", "t", "T2", "T2")
    document = Document("a b", (Layer("entities", spans, relations),), "k", (("fold", "x"),))
    said = json.loads(dumps([document]))
    assert (said["documentId"], said["passageStart"], said["annotated"]) == ("k", 0, ["r s", "t"])
    assert "fold" not in said
    (lost,) = written_and_read(KIND, [document])[1]
    assert lost == {
        "names": 1,
        "values of the document": 1,
        "spans of layer entities": 1,
        "relations of layer entities": 1,
    }
