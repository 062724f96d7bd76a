"""The examples of README.md.

As a program it writes those that run to the file that its argument names.
"""

import re
import sys
from pathlib import Path

_README = Path(__file__).resolve().parent.parent / "README.md"
_BLOCK = re.compile(r"(?:<!-- (.*?) -->\n)?```python\n(.*?)```\n", re.DOTALL)


def examples() -> list[tuple[str, str]]:
    """Return the examples: the comment before each, "" if there is none, and the program."""
    return [(found[1] or "", found[2]) for found in _BLOCK.finditer(_README.read_text("utf-8"))]


def journey() -> str:
    """Return the examples that go on from each other, as one program."""
    return "\n\n".join(program for comment, program in examples() if not comment)


def program(comment: str) -> str:
    """Return the example after a comment, which is a program of its own."""
    (found,) = [program for known, program in examples() if known == comment]
    return found


if __name__ == "__main__":
    text = journey() + "\n\n" + program("receiver") + program("sandbox")
    Path(sys.argv[1]).write_text(text, "utf-8")
