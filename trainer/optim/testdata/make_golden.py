"""Writes adamw.json: updates by torch's AdamW and transformers' schedules.

Run with the virtual environment of scripts/parity:
    python trainer/optim/testdata/make_golden.py
"""

import json
import pathlib

import torch
from transformers import get_scheduler

STEPS = 12
SHAPES = {"fc.weight": (3, 4), "fc.bias": (4,), "final_layer_norm.weight": (4,), "embed.weight": (5, 2)}
CASES = [
    {"shape": "constant", "rate": 1e-2, "warmup": 0, "total": 0, "decay": 0.0, "clip": 0.0},
    {"shape": "linear", "rate": 3e-3, "warmup": 3, "total": 10, "decay": 0.1, "clip": 1.0},
    {"shape": "cosine", "rate": 3e-2, "warmup": 2, "total": 12, "decay": 0.01, "clip": 2.5},
]


def flat(tensors):
    return {name: [float(x) for x in t.detach().flatten()] for name, t in tensors.items()}


def run(case):
    torch.manual_seed(7)
    params = {n: torch.nn.Parameter(torch.randn(s)) for n, s in SHAPES.items()}
    start = flat(params)
    decays = [p for n, p in params.items() if "bias" not in n and "norm" not in n]
    spared = [p for n, p in params.items() if "bias" in n or "norm" in n]
    groups = [{"params": decays, "weight_decay": case["decay"]}, {"params": spared, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=case["rate"], betas=(0.9, 0.999), eps=1e-8)
    name = "constant_with_warmup" if case["shape"] == "constant" else case["shape"]
    scheduler = get_scheduler(name, optimizer, case["warmup"], case["total"])
    steps = []
    for _ in range(STEPS):
        for p in params.values():
            p.grad = torch.randn_like(p) * 0.5
        grads = flat({n: p.grad for n, p in params.items()})
        norm = torch.nn.utils.clip_grad_norm_(params.values(), case["clip"] or float("inf"))
        rate = scheduler.get_last_lr()[0]
        optimizer.step()
        scheduler.step()
        steps.append({"grads": grads, "norm": float(norm), "rate": rate, "values": flat(params)})
    return case | {"start": start, "steps": steps}


out = {"shapes": SHAPES, "cases": [run(c) for c in CASES]}
text = json.dumps(out, separators=(",", ":"))
pathlib.Path(__file__).with_name("adamw.json").write_text(text + "\n")
