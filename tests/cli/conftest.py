"""A tiny trained model for all tests here, and the command line run as users run it."""

import pytest
import tiny
from typer.testing import CliRunner

from spanloom.cli.main import app


@pytest.fixture(scope="session")
def spanloom():
    """Run ``spanloom`` with these arguments; the result has exit_code, stdout and stderr."""
    runner = CliRunner()

    def run(*args, **options):
        result = runner.invoke(app, [str(each) for each in args], **options)
        unexpected = result.exception and not isinstance(result.exception, SystemExit)
        if unexpected:
            raise result.exception
        return result

    return run


@pytest.fixture(scope="session")
def home(tmp_path_factory, spanloom):
    """A folder with an encoder, a corpus, a recipe and the model trained from it (``model``)."""
    folder = tmp_path_factory.mktemp("home")
    recipe = tiny.recipe(folder, epochs=12)
    result = spanloom("train", recipe, "-o", folder / "model")
    assert result.exit_code == 0, result.stderr
    (folder / "trained.txt").write_text(result.stdout, encoding="utf-8")
    return folder


@pytest.fixture
def fails(spanloom):
    """Run a command that must fail, in one line on stderr; returns that line."""

    def run(*args, code, **options):
        result = spanloom(*args, **options)
        assert result.exit_code == code, (result.stdout, result.stderr)
        told = [line for line in result.stderr.splitlines() if line.startswith("spanloom: ")]
        assert len(told) == 1, result.stderr
        assert result.stderr.splitlines()[-1] == told[0]
        return told[0]

    return run
