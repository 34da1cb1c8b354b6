"""List what is wrong with the annotation.conf of a brat corpus: mistakes, and missing types."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from spanloom.corpora.folder import Corpus
from spanloom.errors import FormatError
from spanloom.formats._files import BRAT
from spanloom.formats.brat import conf
from spanloom.formats.brat.conf_extension import missing_entries
from spanloom.formats.brat.conf_from_documents import SECTIONS, Config, TypeCollector
from spanloom.formats.brat.read import read_text_file
from spanloom.quantity import shorten_list


def conf_problems(
    data: Path, corpora: Mapping[str, Corpus], encoding: str = "utf-8"
) -> dict[str, list[str]]:
    """Return the problems of configurations by split, the first of those that use each.

    A document uses the configuration of its folder or of the nearest parent up to ``data``.
    """
    split_of: dict[Path, str] = {}
    collectors: dict[Path, TypeCollector] = {}
    for split, corpus in corpora.items():
        if corpus.root is None or not corpus.root.is_dir() or BRAT not in corpus.formats:
            continue
        paths: dict[Path, Path | None] = {}
        for document in corpus.documents:
            folder = (corpus.root / document.name).parent
            if folder not in paths:
                paths[folder] = conf.find(folder, data)
            if (path := paths[folder]) is not None:
                split_of.setdefault(path, split)
                collectors.setdefault(path, TypeCollector()).add(document)
    problems: dict[str, list[str]] = {}
    for path, collector in collectors.items():
        problems.setdefault(split_of[path], []).extend(
            _problems(path, collector.config(), encoding)
        )
    return problems


def _problems(path: Path, needed: Config, encoding: str) -> Iterator[str]:
    """Yield the mistakes of a configuration, else the types that it lacks, by section."""
    try:
        config, mistakes = conf.parse(read_text_file(path, encoding), str(path))
    except FormatError as error:
        yield str(error)
        return
    yield from map(str, mistakes)
    if mistakes:
        return
    for section in SECTIONS:
        if missing := [entry.label for entry in missing_entries(config, needed, section)]:
            names = shorten_list(missing)
            yield f"{path}: [{section}] does not declare {names}, which documents have"
