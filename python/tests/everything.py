"""All tests, for an environment that has torch, transformers, accelerate, datasets and h5py: a skipped test is a failure.

    python -m tests.everything
"""

from __future__ import annotations

import sys
import unittest
from pathlib import Path


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    suite = unittest.defaultTestLoader.discover(str(root / "tests"), top_level_dir=str(root))
    result = unittest.TextTestRunner().run(suite)
    for test, reason in result.skipped:
        sys.stderr.write(f"skipped: {test}: {reason}\n")
    return 0 if result.wasSuccessful() and not result.skipped and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
