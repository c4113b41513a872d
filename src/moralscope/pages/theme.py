"""The palette of `assets/theme.css` for figures: the same colours as pages and reports."""

import re
from functools import cache

from moralscope.pages.html import asset


@cache
def palette() -> dict[str, str]:
    """Return the light colours by name."""
    return dict(re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]+),", asset("theme.css")))
