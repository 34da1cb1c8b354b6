"""What every reply carries, who may ask, what the server tells of itself."""

import re
from dataclasses import replace

import pytest
from fake_model import ABOUT, MOOD, NAMES

from spanloom import tasks as task_types
from spanloom.config.abilities import ANSWERS, CHOOSES_LABEL, CHOOSES_NUMBER
from spanloom.errors import DataError
from spanloom.serve.limits import Limits
from spanloom.serve.middleware import SECURITY
from spanloom.serve.model_info import CLASSIFYING_KINDS, TaskInfo

BODY = {"text": "Ada!"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/annotate", BODY, 200),
        ("/v1/annotate", {}, 422),
        ("/v1/annotate", b" " * 3_000_000, 413),
        ("/v1/model", None, 200),
        ("/nowhere", None, 404),
    ],
)
def test_every_reply_tells_browsers_to_run_nothing(asked, path, body, status):
    reply = asked(path, body)
    assert reply.status_code == status
    assert {name: reply.headers.get(name) for name in SECURITY} == SECURITY
    assert not any(name.startswith("access-control") for name in reply.headers)


def test_no_other_origin_is_let_in(asked):
    reply = asked("/v1/annotate", BODY, headers={"origin": "http://elsewhere"})
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *[(name, 200) for name in ("localhost", "localhost:8000", "127.0.0.1:80", "[::1]:8000")],
        *[(name, 200) for name in ("app.localhost:1", "192.168.0.7")],
        *[(name, 421) for name in ("evil.example", "evil.example:8000", "localhost.evil.example")],
        *[(name, 421) for name in ("[", "127.0.0.1.evil.example", "a b", ":8000")],
    ],
)
def test_a_local_server_answers_to_its_own_names_alone(asked, host, status):
    headers = {"host": host}
    assert asked("/v1/model", is_local=True, headers=headers).status_code == status
    assert asked("/v1/annotate", BODY, is_local=True, headers=headers).status_code == status
    assert asked("/v1/model", headers=headers).status_code == 200
    allowed = headers | {"authorization": "Bearer secret"}
    assert asked("/v1/model", is_local=True, token="secret", headers=allowed).status_code == 200


@pytest.mark.parametrize("said", [None, "", "Bearer", "Bearer wrong", "secret", "Bearer secret "])
def test_without_the_token_nothing_is_told(asked, said):
    headers = {} if said is None else {"authorization": said}
    for path in ("/v1/model", "/metrics", "/openapi.json", "/nowhere"):
        reply = asked(path, token="secret", headers=headers)
        assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert asked("/v1/annotate", BODY, token="secret", headers=headers).status_code == 401
    assert asked("/health/ready", token="secret", headers=headers).status_code == 200


def test_with_the_token_all_is_as_ever(asked):
    headers = {"authorization": "Bearer secret"}
    assert asked("/v1/annotate", BODY, token="secret", headers=headers).status_code == 200


def test_the_model_is_told(asked):
    told = asked("/v1/model").json()
    assert (told["name"], told["license"]) == ("fake", "cc-by-4.0")
    assert told["licenses"] == {"people": "cc-by-4.0"}
    assert told["scores"][0]["test"] == "f1 99.00"
    assert told["limits"]["texts"] == 256
    assert told["training"] == {
        "question": ANSWERS.command,
        "labels": CHOOSES_LABEL.command,
        "range": CHOOSES_NUMBER.command,
    }
    doors = {task["name"]: task["endpoints"] for task in told["tasks"]}
    assert doors[NAMES] == ["/v1/annotate"]
    assert doors[MOOD] == ["/v1/annotate", "/v1/classify"]


def test_a_task_that_is_given_annotation_has_no_address(asked):
    roles = TaskInfo("roles", "roles", "roles", {}, ("predicates",))
    about = replace(ABOUT, tasks=(*ABOUT.tasks, roles))
    assert asked("/v1/model", about=about).json()["tasks"][-1]["endpoints"] == []
    reply = asked("/v1/annotate", {**BODY, "tasks": ["roles"]}, about=about)
    assert (reply.status_code, reply.json()["where"]) == (422, "tasks[0]")


def test_what_runs_on_request_is_told_and_waits_to_be_named(asked):
    waiting = tuple(replace(task, on_request=task.name == NAMES) for task in ABOUT.tasks)
    about = replace(ABOUT, tasks=waiting)
    told = asked("/v1/model", about=about).json()["tasks"]
    assert {task["name"]: task["on_request"] for task in told}[NAMES] is True
    assert not any(task["on_request"] for task in told if task["name"] != NAMES)
    for tasks, layers in (({}, ["moods"]), ({"tasks": [NAMES]}, [NAMES])):
        (found,) = asked("/v1/annotate", {**BODY, **tasks}, about=about).json()["documents"]
        assert [layer["name"] for layer in found["layers"]] == layers


def test_where_all_runs_on_request_somebody_has_to_name_it(asked):
    about = replace(ABOUT, tasks=tuple(replace(task, on_request=True) for task in ABOUT.tasks))
    reply = asked("/v1/annotate", BODY, about=about)
    assert (reply.status_code, reply.json()["where"]) == (422, "tasks")
    assert NAMES in reply.json()["detail"]


def test_metrics_are_what_prometheus_reads(served):
    for body in (BODY, BODY, {}):
        served.client.post("/v1/annotate", json=body)
    served.client.get("/strange/ways")
    reply = served.client.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    rows = reply.text.splitlines()
    assert 'spanloom_requests_total{path="/v1/annotate",status="200"} 2' in rows
    assert 'spanloom_requests_total{path="/v1/annotate",status="422"} 1' in rows
    assert 'spanloom_requests_total{path="other",status="404"} 1' in rows
    assert 'spanloom_request_seconds_bucket{path="/v1/annotate",le="+Inf"} 3' in rows
    assert "spanloom_texts_total 2" in rows
    assert "spanloom_ready 1" in rows
    form = re.compile(r'[a-z_]+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e-]+')
    assert all(row.startswith(("# HELP ", "# TYPE ")) or form.fullmatch(row) for row in rows)


def test_limits_let_something_through():
    with pytest.raises(DataError, match="limits: texts: expected more than 0, got 0"):
        Limits(texts=0)


def test_the_kinds_of_the_endpoints_exist():
    assert {ANSWERS.kind} | CLASSIFYING_KINDS <= set(task_types.names())
