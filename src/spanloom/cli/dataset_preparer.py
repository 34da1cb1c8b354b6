"""What ``glad prepare`` does for each dataset, in this process or in a worker."""

from dataclasses import dataclass
from pathlib import Path

from spanloom.cli.console import log
from spanloom.corpora import card as cards
from spanloom.corpora import prepare as making
from spanloom.corpora.fetch import fetch
from spanloom.corpora.prepare import Prepared
from spanloom.errors import MissingFileError, SpanloomError


@dataclass(frozen=True, slots=True)
class PrepareOutcome:
    """What was made, or the error; ``is_missing``: the dataset's files are not there."""

    prepared: Prepared | None = None
    error: str = ""
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class DatasetPreparer:
    """Prepares datasets below ``out`` from files below ``raw``."""

    raw: Path
    out: Path

    def __call__(self, name: str) -> PrepareOutcome:
        """Return what was made of a dataset's files; errors do not stop those that come after."""
        try:
            return PrepareOutcome(self._prepare(name))
        except MissingFileError as error:
            return PrepareOutcome(error=str(error), is_missing=True)
        except SpanloomError as error:
            return PrepareOutcome(error=str(error))

    def _prepare(self, name: str) -> Prepared:
        """Prepare one dataset, downloaded if possible."""
        card = cards.load(name)
        fetch(card, self.raw, log)
        if card.download_instructions and not any(
            self.raw.glob(f) for s in card.sources.values() for f in s.files
        ):
            raise MissingFileError(f"{name}: {card.download_instructions}")
        prepared = making.prepare(name, self.raw, self.out, lambda line: log(f"{name}: {line}"))
        log(f"{name}: {'made' if prepared.fresh else 'there already'}")
        return prepared
