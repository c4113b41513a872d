"""Draw docs/picture.svg, the picture of the README, from a real run.

python docs/draw_picture.py
"""

import re
from pathlib import Path

from rich.console import Console

from moralscope.axes.score import demo
from moralscope.cli.output import score_table


def main() -> None:
    """Score the demo's actions and save the table as it looks in a terminal."""
    console = Console(record=True, width=84)
    console.print("$ moralscope demo", style="bold")
    console.print(score_table(demo().results, "over wordings"))
    drawn = console.export_svg(title="moralscope")
    # No reader of the README asked for fonts from elsewhere: the viewer's own monospace serves.
    drawn = re.sub(r"@font-face\s*\{[^}]*\}", "", drawn)
    drawn = re.sub(r"<!--.*?-->", "", drawn, flags=re.DOTALL)
    Path(__file__).with_name("picture.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
