"""The tree of adposition supersenses, SNACS 2.6 (Schneider et al., arXiv 1704.02134)."""

_TREE = """
Circumstance
 Temporal
  Time
   StartTime
   EndTime
  Frequency
  Duration
  Interval
 Locus
  Source
  Goal
 Path
  Direction
  Extent
 Means
 Manner
 Explanation
  Purpose
Participant
 Causer
 Force
  Agent
 Theme
  Topic
  Content
 Ancillary
 Stimulus
 Experiencer
 Originator
 Recipient
 Cost
 Beneficiary
 Instrument
Configuration
 Identity
 Species
 Gestalt
  Possessor
  Whole
  Org
  QuantityItem
 Characteristic
  Possession
  PartPortion
   Stuff
  OrgMember
  QuantityValue
   Approximator
 Ensemble
 ComparisonRef
 SetIteration
 SocialRel
"""

PREFIX = "p."


def _paths() -> dict[str, tuple[str, ...]]:
    """Return the path from the top to each supersense."""
    found: dict[str, tuple[str, ...]] = {}
    path: list[str] = []
    for line in _TREE.split("\n"):
        name = line.lstrip()
        if name:
            path[len(line) - len(name) :] = [PREFIX + name]
            found[PREFIX + name] = tuple(path)
    return found


_PATHS = _paths()


def coarse(sense: str, depth: int) -> str | None:
    """Return a supersense, or the one above it at that depth (1: the top); None if unknown.

    What is no adposition's, or none, stays as it is.
    """
    if not sense.startswith(PREFIX):
        return sense
    path = _PATHS.get(sense)
    return path[min(depth, len(path)) - 1] if path else None
