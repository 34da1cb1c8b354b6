"""What pyproject.toml promises: the packages that the code imports, no others, and the licences."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
FOR_WORK = ("dev", "docs")  # extras that nobody needs who only uses the package


def imported(folder: Path, *folders: str) -> Iterator[str]:
    """The distributions that the modules of a folder import by name.

    ``folders`` hold modules that are imported by their own names.
    """
    distributions = packages_distributions()
    own_modules = {path.stem for name in folders for path in (ROOT / name).rglob("*.py")} | {
        "spanloom",
        "labmarks",  # the package that docs/extending.md shows
    }
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in (
                {module.split(".")[0] for module in names} - sys.stdlib_module_names - own_modules
            ):
                assert name in distributions, f"{path}: {name} is not installed"
                yield canonicalize_name(distributions[name][0])


def names(requirements) -> set[str]:
    return {canonicalize_name(Requirement(requirement).name) for requirement in requirements}


def used() -> set[str]:
    """What users may install: the package's own requirements and those of its extras."""
    extras = [
        requirement for name, some in EXTRAS.items() if name not in FOR_WORK for requirement in some
    ]
    return names([*PROJECT["dependencies"], *extras])


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    assert set(imported(ROOT / "src" / "spanloom")) == used()


def test_the_developers_environment_has_what_the_tests_and_the_extras_need():
    dev = names(EXTRAS["dev"])
    imports = set(imported(ROOT / "tests", "tests", "benchmarks", "docs"))
    assert imports <= names(PROJECT["dependencies"]) | dev
    assert used() - names(PROJECT["dependencies"]) <= dev
    assert names(EXTRAS["docs"]) <= dev


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.]+", version) for _, version in pins), "a build of one machine"
    return {canonicalize_name(name): version for name, version in pins}


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_the_tested_versions_are_named_and_allowed(extra):
    pins = constraints()
    for requirement in map(Requirement, EXTRAS[extra] if extra else PROJECT["dependencies"]):
        if requirement.name != "torch":  # its builds differ by machine: TORCH in the Makefile
            assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), (
                requirement
            )
    assert "torch" not in pins


def test_each_installation_of_the_makefile_takes_the_tested_versions():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    installs = re.findall(r"pip install (.*)", text)
    bare = [command for command in installs if "-c $(CONSTRAINTS)" not in command]
    assert len(installs) > len(bare)
    assert all("--no-deps" in command for command in bare)
    assert re.search(r"^\$\(VENV\)/\.base:.*\$\(CONSTRAINTS\)", text, re.MULTILINE)
