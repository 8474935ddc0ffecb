"""What an audit says."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, List, Optional

from .kinds import KINDS
from .scan import Finding

if TYPE_CHECKING:
    from .watch import Measured

SHOWN = 8  # places
LEAST = 0.01  # share of the time that is worth a word
ADVICE = {kind.name: kind.advice for kind in KINDS}


def near(file: str) -> str:
    """A path as short as it can be."""
    short = os.path.relpath(file)
    return file if short.startswith("..") else short


def rows(measured: Measured) -> List[dict]:
    """The places that the waiting went to, the largest first."""
    total = sum(measured.places.values())
    return [
        {"share": n / total, **asdict(p), "advice": ADVICE.get(p.kind, "")}
        for p, n in measured.places.most_common(SHOWN)
        if n >= LEAST * total
    ]


def text(findings: List[Finding], measured: Optional[Measured]) -> str:
    """For people."""
    out: List[str] = []
    if measured is not None and not measured.steps:
        out += ["no step was measured: the script took no batches from a torch DataLoader", ""]
    elif measured is not None:
        n = len(measured.steps)
        out.append(
            f"{n} steps of {measured.seconds / n:.3f} s on {measured.device}: {measured.share:.0%} of it waiting for data"
            + (f"; {measured.faster:.1f} times as fast if no step waited" if measured.share >= LEAST else "")
        )
        found = rows(measured)
        if found and measured.share >= LEAST:
            whose = "the loader's workers" if measured.in_workers else "the loop's own process"
            out.append(f"that time went, in {whose}, to")
            for r in found:
                out.append(f"  {r['share']:4.0%}  {r['kind']:<12} {near(r['file'])}:{r['line']} in {r['function']}")
            if found[0]["advice"]:
                out.append(f"first: {found[0]['advice']}")
        out.append("")
    if not findings:
        out.append("the source shows nothing that would keep a GPU waiting")
    for f in findings:
        out.append(f"{f.weight:<8}  {near(f.file)}:{f.line}  {f.what}")
        out.append(f"          {f.advice}")
    return "\n".join(out) + "\n"


def as_json(findings: List[Finding], measured: Optional[Measured]) -> str:
    """For programs: one line."""
    report: dict = {"message_type": "audit", "findings": [f.to_json() for f in findings]}
    if measured is not None:
        report.update(
            steps=len(measured.steps), seconds=measured.seconds, waited_seconds=measured.waited,
            waiting_share=measured.share, faster=measured.faster, device=measured.device,
            in_workers=measured.in_workers, places=rows(measured),
        )
    return json.dumps(report)


def trace(measured: Measured, path: Path) -> None:
    """The steps as a trace that Perfetto and Chrome draw."""
    zero = measured.steps[0].asked if measured.steps else 0.0
    events: List[dict] = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "training"}}]
    for step in measured.steps:
        for name, begin, end in (("wait for data", step.asked, step.came), ("step", step.came, step.ended)):
            span = {"ts": (begin - zero) * 1e6, "dur": (end - begin) * 1e6}
            events.append({"ph": "X", "pid": 1, "tid": 1, "name": name, **span})
    path.write_text(json.dumps(events), encoding="utf-8")
