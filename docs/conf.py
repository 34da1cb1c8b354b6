"""How Sphinx makes the documentation: ``make docs``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import kind_pages

HERE = Path(__file__).parent
BUILD = HERE.parent / "build"

project = "Spanloom"
author = "the authors of Spanloom"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "Spanloom"
html_extra_path = [str(BUILD / "drawn")]
exclude_patterns = ["benchmarks.in.md"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
nitpicky = False

kind_pages.pages(HERE / "made" / "kinds", BUILD / "drawn" / "drawn")
