"""Downloads: only https, whole or not at all, only what is not there; no network is touched."""

import io
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from spanloom.corpora import fetch as fetching
from spanloom.corpora.card import parse
from spanloom.corpora.fetch import fetch
from spanloom.errors import DataError

CARD = (
    "title: T\nhomepage: https://example.org\nlicense: CC0\n"
    "may_share_data: true\nmay_share_weights: true\ncitation: c\n"
    "tasks: [entities]\nmetric: spans\n"
    "sources:\n"
    "  a: {{files: [t/a.conll, t/sub/b.conll], base_url: '{base}', format: columns}}\n"
    "  c: {{files: ['t/*.x'], base_url: 'https://example.org', format: columns}}\n"
    "splits: {{all: {{source: a}}}}\n"
)


def card(base="https://example.org/raw/"):
    return parse(CARD.format(base=base), "card.yaml")


class Answer(io.BytesIO):
    """An answer without a length, as chunked ones are."""

    length = None

    def __init__(self, address, content):
        super().__init__(content)
        self.url = address


@pytest.fixture
def asked(monkeypatch):
    """The addresses that were asked for; each answers with itself."""
    addresses = []

    def urlopen(address, timeout):
        addresses.append(address)
        assert timeout <= 60
        return Answer(address, address.encode())

    monkeypatch.setattr(fetching.urllib.request, "urlopen", urlopen)
    return addresses


def test_what_is_missing_is_fetched_and_what_is_there_is_not(asked, tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t/a.conll").write_text("mine")
    messages = []
    fetch(card(), tmp_path, messages.append)
    assert asked == ["https://example.org/raw/sub/b.conll"]
    assert (tmp_path / "t/a.conll").read_text() == "mine"
    assert (tmp_path / "t/sub/b.conll").read_text() == asked[0]
    assert messages[0].startswith(asked[0])
    fetch(card(), tmp_path, messages.append)
    assert len(asked) == 1


@pytest.mark.parametrize("base", ["http://example.org", "file:///etc", "ftp://example.org"])
def test_other_addresses_are_refused(asked, tmp_path, base):
    with pytest.raises(DataError, match="expected an address that starts with https://"):
        fetch(card(base), tmp_path, print)
    assert asked == []


def test_nothing_is_fetched_without_an_address(asked, tmp_path):
    fetch(card(""), tmp_path, print)
    assert asked == []


class Torn(Answer):
    """An answer that ends early."""

    def read(self, size):
        if not self.tell():
            return super().read(3)
        raise urllib.error.URLError("connection lost")


@pytest.mark.parametrize("problem", ["lost", "refused", "large"])
def test_a_file_is_there_whole_or_not_at_all(monkeypatch, tmp_path, problem):
    def urlopen(address, timeout):
        if problem == "refused":
            raise urllib.error.HTTPError(address, 404, "Not Found", None, None)
        return Torn(address, b"abcdef") if problem == "lost" else Answer(address, b"a" * 100)

    monkeypatch.setattr(fetching.urllib.request, "urlopen", urlopen)
    monkeypatch.setattr(fetching, "_MAX_BYTES", 10)
    with pytest.raises(DataError, match=r"a\.conll: (cannot be downloaded|larger than 10)"):
        fetch(card(), tmp_path, lambda line: None)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


class Handler(BaseHTTPRequestHandler):
    """Send 6 bytes; their ``Content-Length`` is what the path says, and ``/moved`` leads on."""

    def do_GET(self):
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/6")
        else:
            self.send_response(200)
            self.send_header("Content-Length", self.path[1:])
        self.end_headers()
        if self.path != "/moved":
            self.wfile.write(b"abcdef")

    def log_message(self, *args):
        pass


@pytest.fixture
def serve(monkeypatch):
    """Let each https address lead to a local server, as if that were reached by https or not."""
    open_url = urllib.request.urlopen
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()

        def answer(path, *, is_https):
            def urlopen(address, timeout):
                response = open_url(f"http://127.0.0.1:{server.server_port}{path}", timeout=timeout)
                response.url = address if is_https else response.url
                return response

            monkeypatch.setattr(fetching.urllib.request, "urlopen", urlopen)

        yield answer
        server.shutdown()
        thread.join()


def test_a_download_that_is_cut_off_is_not_kept(serve, tmp_path):
    serve("/60", is_https=True)
    with pytest.raises(DataError, match=r"a\.conll: cut off after 6 bytes, 54 before its end"):
        fetch(card(), tmp_path, lambda line: None)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
    serve("/6", is_https=True)
    fetch(card(), tmp_path, lambda line: None)
    assert (tmp_path / "t/a.conll").read_bytes() == b"abcdef"


def test_a_redirect_to_http_is_refused(serve, tmp_path):
    serve("/moved", is_https=False)
    with pytest.raises(DataError, match=r"https://, got a redirect to http://127\.0\.0\.1:\d+/6"):
        fetch(card(), tmp_path, lambda line: None)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
