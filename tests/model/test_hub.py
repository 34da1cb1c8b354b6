"""What is uploaded to the hub is the model, all of it, and nothing else."""

import shutil
from types import SimpleNamespace

import pytest

import spanloom
from spanloom.document import Document
from spanloom.errors import ModelError


class Fake:
    """A hub that keeps what it is sent in a folder."""

    def __init__(self, place):
        self.place, self.asked, self.refuses = place, [], None

    def __call__(self, *, token):
        self.asked.append(token)
        return self

    def create_repo(self, repo, *, private, exist_ok):
        if self.refuses:
            raise self.refuses
        self.asked.append((repo, private, exist_ok))
        return SimpleNamespace(repo_id=repo)

    def upload_folder(self, *, repo_id, folder_path, allow_patterns, commit_message):
        self.place.mkdir()
        for name in allow_patterns:
            shutil.copy(folder_path / name, self.place / name)


@pytest.fixture
def fake(tmp_path, monkeypatch):
    made = Fake(tmp_path / "there")
    monkeypatch.setattr("huggingface_hub.HfApi", made)
    return made


def test_what_arrives_loads_and_says_the_same(fake, saved, model):
    spanloom.push_to_hub(saved, "me/protocols", private=True, token="t")
    assert fake.asked == ["t", ("me/protocols", True, True)]
    there = spanloom.from_pretrained(fake.place)
    text = Document("Add 5 ml of buffer.")
    assert next(there.annotate([text], ["names"])) == next(model.annotate([text], ["names"]))


def test_a_clone_with_what_git_and_the_hub_lay_beside_it_loads(saved, tmp_path, model):
    home = tmp_path / "clone"
    shutil.copytree(saved, home)
    (home / ".gitattributes").write_text("*.safetensors filter=lfs")
    for name in (".git/objects/pack.bin", ".cache/huggingface/lock"):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text("beside")
    text = Document("Add 5 ml of buffer.")
    there = spanloom.load(home)
    assert next(there.annotate([text], ["names"])) == next(model.annotate([text], ["names"]))


def test_a_damaged_model_is_not_uploaded(fake, saved, tmp_path):
    home = tmp_path / "damaged"
    shutil.copytree(saved, home)
    (home / "notes.txt").write_text("private")
    with pytest.raises(ModelError, match=r"notes\.txt"):
        spanloom.push_to_hub(home, "me/protocols")
    assert not fake.asked


def test_what_the_hub_refuses_is_one_line(fake, saved):
    fake.refuses = OSError("no way\nthere")
    with pytest.raises(ModelError, match=r"^me/protocols: the hub did not take .*: no way$"):
        spanloom.push_to_hub(saved, "me/protocols")
