"""Hierarchy of adposition supersenses, SNACS 2.6 (Schneider et al., arXiv 1704.02134)."""

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
    """Return the path from the root to each supersense."""
    paths: dict[str, tuple[str, ...]] = {}
    path: list[str] = []
    for line in _TREE.split("\n"):
        name = line.lstrip()
        if name:
            path[len(line) - len(name) :] = [PREFIX + name]
            paths[PREFIX + name] = tuple(path)
    return paths


_PATHS = _paths()


def coarse(sense: str, depth: int) -> str | None:
    """Return a supersense, or its ancestor at that depth (1: the root); None if unknown.

    Supersenses that are not an adposition's, and "", are returned unchanged.
    """
    if not sense.startswith(PREFIX):
        return sense
    path = _PATHS.get(sense)
    return path[min(depth, len(path)) - 1] if path else None
