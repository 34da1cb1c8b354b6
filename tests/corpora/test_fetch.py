"""Downloads: only https, whole or not at all, only what is not there; no network is touched."""

import io
import urllib.error

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


@pytest.fixture
def asked(monkeypatch):
    """The addresses that were asked for; each answers with itself."""
    addresses = []

    def urlopen(address, timeout):
        addresses.append(address)
        assert timeout <= 60
        return io.BytesIO(address.encode())

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


class Torn(io.BytesIO):
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
        return Torn(b"abcdef") if problem == "lost" else io.BytesIO(b"a" * 100)

    monkeypatch.setattr(fetching.urllib.request, "urlopen", urlopen)
    monkeypatch.setattr(fetching, "_MAX_BYTES", 10)
    with pytest.raises(DataError, match=r"a\.conll: (cannot be downloaded|larger than 10)"):
        fetch(card(), tmp_path, lambda line: None)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
