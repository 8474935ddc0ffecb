#!/usr/bin/env python3
"""Writes ulaw.golden beside itself, from Python's audioop (3.12 and before),
which holds Sun's g711.c: for each code its decoded sample, and for the codes
of the positive half also the smallest sample that is encoded to it."""
import array
import audioop
import pathlib

codes = bytes(range(256))
decoded = array.array("h", audioop.ulaw2lin(codes, 2))
smallest = {}
for sample in range(32767, -1, -1):
    code = audioop.lin2ulaw(array.array("h", [sample]).tobytes(), 2)[0]
    smallest[code] = sample
lines = ["# code decoded smallest; made by ulaw.py"]
for code in codes:
    lines.append(f"{code} {decoded[code]} {smallest.get(code, '-')}")
pathlib.Path(__file__).with_name("ulaw.golden").write_text("\n".join(lines) + "\n")
