"""Measures Hugging Face's Whisper in training on a GPU: the peer of
`melforge-train bench`.

    python scripts/bench-train-gpu.py --size tiny --batch 16 64

Random weights, random clips that are on the GPU already, bfloat16 autocast over
float32 weights as Seq2SeqTrainer has it with bf16=True, the fused AdamW, and
gradients clipped to a norm of 1; with --pure also weights and moments in
bfloat16. Each line is one way to run it, with the mean of the measured steps.
"""

import argparse
import time

import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

SIZES = {"tiny": (384, 4, 6), "base": (512, 6, 8), "small": (768, 12, 12), "medium": (1024, 24, 16), "large": (1280, 32, 20)}


def build(size, dtype):
    width, layers, heads = SIZES[size]
    config = WhisperConfig(
        d_model=width, encoder_layers=layers, decoder_layers=layers,
        encoder_attention_heads=heads, decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width,
        decoder_start_token_id=50258, pad_token_id=50257, bos_token_id=50257, eos_token_id=50257,
    )
    torch.manual_seed(0)
    return WhisperForConditionalGeneration(config).to("cuda", dtype).train()


def measure(args, batch, compiled, pure):
    model = build(args.size, torch.bfloat16 if pure else torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01, fused=True)
    mels = torch.randn(batch, 80, 3000, device="cuda", dtype=torch.bfloat16 if pure else torch.float32) * 0.5
    labels = torch.randint(0, 51865, (batch, args.labels), device="cuda")
    run = torch.compile(model) if compiled else model

    def step():
        with torch.autocast("cuda", torch.bfloat16, enabled=not pure):
            loss = run(input_features=mels, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return loss

    begun = time.perf_counter()
    first = step().item()
    setup = time.perf_counter() - begun
    for _ in range(4):
        last = step()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(args.steps):
        last = step()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - begun) / args.steps
    name = ("compiled" if compiled else "eager") + (" pure bfloat16" if pure else " autocast")
    memory = torch.cuda.max_memory_allocated() / 1e9
    print(
        f"transformers {args.size} batch {batch} {name}: first step {setup:.1f} s, step {seconds * 1e3:.2f} ms, "
        f"{batch / seconds:.0f} samples/s, loss {first:.4f} -> {last.item():.4f}, {memory:.1f} GB",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--batch", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--labels", type=int, default=64)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--pure", action="store_true")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    for batch in args.batch:
        for pure in (False, True) if args.pure else (False,):
            for compiled in (False, True):
                torch._dynamo.reset()
                torch.cuda.reset_peak_memory_stats()
                measure(args, batch, compiled, pure)


if __name__ == "__main__":
    main()
