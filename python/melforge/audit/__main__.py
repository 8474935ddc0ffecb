"""The command: see the package."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import List, Optional, Tuple

from . import report
from .scan import scan

EPILOG = """examples:
  melforge audit train.py                            read it, and run it for 20 steps
  melforge audit train.py --steps 50 -- --epochs 1   what follows -- is the script's
  melforge audit train.py --scan                     only read it
  melforge audit train.py --max-waiting 5 --json     for a check that fails
  python -m melforge.audit train.py                  the same, with the Python package

exit codes:
  0    done
  1    the script failed before a step was measured
  2    usage
  3    more than --max-waiting per cent of the time were waiting for data
  130  interrupted; what was measured until then is said
"""


def arguments(argv: List[str]) -> Tuple[argparse.Namespace, List[str]]:
    """The audit's arguments, and the script's."""
    mine, theirs = (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    parser = argparse.ArgumentParser(
        prog="melforge audit",
        description="Finds what a PyTorch training script waits for.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("script", type=Path, help="the training script; its arguments come after --")
    parser.add_argument("--steps", type=int, default=20, help="how many to measure (default %(default)s); then the script is ended")
    parser.add_argument("--warmup", type=int, default=3, help="steps before those (default %(default)s)")
    parser.add_argument("--scan", action="store_true", help="only read the source, run nothing")
    parser.add_argument("--max-waiting", type=float, metavar="PERCENT", help="exit with 3 if more of the time is waiting for data")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write the steps as a trace for Perfetto and Chrome")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args(mine)
    if not options.script.is_file():
        parser.error(f"{options.script} is not there")
    if options.steps < 1 or options.warmup < 0:
        parser.error("--steps must be 1 or more, --warmup 0 or more")
    return options, theirs


def main(argv: Optional[List[str]] = None) -> int:
    options, theirs = arguments(sys.argv[1:] if argv is None else argv)
    findings, measured, code = scan(options.script), None, 0
    if not options.scan:
        try:
            from .watch import Watch
        except ImportError as error:
            print(f"only read, not run: PyTorch cannot be imported here: {error}", file=sys.stderr)
        else:
            watch = Watch(options.steps, options.warmup)
            measured = watch.measured
            try:
                watch.run(options.script, theirs)
            except SystemExit:
                pass  # so the script ends
            except KeyboardInterrupt:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells everybody, and a parent once more
                code = 130
            except Exception:
                traceback.print_exc()
                code = 0 if measured.steps else 1
    if int(os.environ.get("RANK", "0")) > 0:
        return code  # one of several says it
    sys.stdout.write(report.as_json(findings, measured) + "\n" if options.json else report.text(findings, measured))
    if measured is not None and options.trace:
        report.trace(measured, options.trace)
    if measured is not None and options.max_waiting is not None and 100 * measured.share > options.max_waiting:
        code = code or 3
    return code


if __name__ == "__main__":
    sys.exit(main())
