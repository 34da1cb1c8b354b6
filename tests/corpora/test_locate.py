"""A recipe's data is found beside it, from here, or below SPANLOOM_DATA, in that order."""

import pytest

from spanloom.corpora.folder import locate
from spanloom.corpora.places import locate_file
from spanloom.embedders.transformer import source
from spanloom.errors import DataError


@pytest.fixture
def places(tmp_path, monkeypatch):
    for name in ("recipes", "here", "data"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("SPANLOOM_DATA", str(tmp_path / "data"))
    return tmp_path


def test_the_order_is_beside_here_and_the_variable(places):
    (places / "data" / "wlp").mkdir()
    assert locate("wlp", places / "recipes").resolve() == places / "data" / "wlp"
    (places / "here" / "wlp").mkdir()
    assert locate("wlp", places / "recipes").resolve() == places / "here" / "wlp"
    (places / "recipes" / "wlp").mkdir()
    assert locate("wlp", places / "recipes").resolve() == places / "recipes" / "wlp"


def test_a_file_is_found_alike_and_a_folder_of_its_name_is_passed_over(places):
    recipes = places / "recipes"
    assert locate_file("v.txt", recipes) == recipes / "v.txt"  # for the error
    (places / "data" / "v.txt").touch()
    (places / "here" / "v.txt").mkdir()
    assert locate_file("v.txt", recipes) == places / "data" / "v.txt"
    (recipes / "v.txt").touch()
    assert locate_file("v.txt", recipes) == recipes / "v.txt"


def test_an_encoder_is_found_alike(places):
    assert source("tiny", places / "recipes") == "tiny"  # perhaps of a hub
    (places / "data" / "tiny").mkdir()
    assert source("tiny", places / "recipes") == str(places / "data" / "tiny")


def test_an_absolute_path_is_itself(places):
    assert locate(str(places / "data"), places / "recipes") == places / "data"


def test_the_error_names_every_place_and_the_variable(places):
    with pytest.raises(DataError, match="no corpus 'wlp'.* --data DIR to study and glad") as caught:
        locate("wlp", places / "recipes")
    for tried in ("recipes/wlp", "data/wlp", "SPANLOOM_DATA"):
        assert tried in str(caught.value)


def test_a_dataset_with_a_card_is_named_with_the_command_that_makes_it(places):
    with pytest.raises(DataError, match=r"\(spanloom glad prepare ewt --raw DOWNLOADS -o DIR make"):
        locate("ewt", places / "recipes")


def test_without_the_variable_it_is_not_looked_up(places, monkeypatch):
    (places / "data" / "wlp").mkdir()
    monkeypatch.delenv("SPANLOOM_DATA")
    with pytest.raises(DataError):
        locate("wlp", places / "recipes")
