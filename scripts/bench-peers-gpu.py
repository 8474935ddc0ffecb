#!/usr/bin/env python3
"""What other programs make of the same work on the same GPU.

Clips of 30 s, 16 kHz, to Whisper's log-mel of 80 x 3000 in FP16. Prints one JSON
line a peer, with clips a second, the median of several runs. Needs torch and
torchaudio; transformers if it is there.
"""
import json
import statistics
import sys
import time

import torch

RATE, SECONDS, BATCH = 16000, 30, 64
LENGTH = RATE * SECONDS


def rate(step, clips, runs=9, inner=5):
    """clips a second of step, with the device's queue drained around each run."""
    for _ in range(3):
        step()
    seen = []
    for _ in range(runs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(inner):
            step()
        torch.cuda.synchronize()
        seen.append(inner * clips / (time.perf_counter() - start))
    return statistics.median(seen)


def say(peer, value):
    print(json.dumps({"peer": peer, "clips_per_second": round(value)}), flush=True)


def scaled(power):
    log = torch.clamp(power, min=1e-10).log10()
    log = torch.maximum(log, log.amax(dim=(1, 2), keepdim=True) - 8.0)
    return ((log + 4.0) / 4.0).half()


def main():
    torch.manual_seed(1)
    pcm = (torch.randn(BATCH, LENGTH) * 2000).to(torch.int16)
    on_device = (pcm.cuda().float() / 32768).contiguous()
    window = torch.hann_window(400, device="cuda")

    def bus():
        buffer.copy_(pinned, non_blocking=True)

    pinned, buffer = pcm.pin_memory(), torch.empty_like(pcm, device="cuda")
    say("bus: int16 samples to the device", rate(bus, BATCH))

    import torchaudio

    transform = torchaudio.transforms.MelSpectrogram(
        RATE, n_fft=400, hop_length=160, n_mels=80, norm="slaney", mel_scale="slaney").cuda()
    say("torchaudio MelSpectrogram, device only", rate(lambda: transform(on_device), BATCH))
    for times in (2, 4):
        more = on_device.repeat(times, 1)
        say(f"the same in batches of {times * BATCH}", rate(lambda: transform(more), times * BATCH))
        del more
    say("torchaudio MelSpectrogram, log, floor, FP16, device only", rate(lambda: scaled(transform(on_device)[..., :-1]), BATCH))
    bank = transform.mel_scale.fb.T.contiguous()

    def stft():
        spectrum = torch.stft(on_device, 400, 160, window=window, return_complex=True)
        return scaled(bank @ spectrum[..., :-1].abs() ** 2)

    say("torch.stft, device only", rate(stft, BATCH))

    out = torch.empty(BATCH, 80, 3000, dtype=torch.float16).pin_memory()

    def host_to_host():
        buffer.copy_(pinned, non_blocking=True)
        out.copy_(scaled(transform(buffer.float() / 32768)[..., :-1]), non_blocking=True)

    say("torchaudio, pinned int16 to pinned FP16, one stream", rate(host_to_host, BATCH))
    try:
        from transformers import WhisperFeatureExtractor
    except ImportError:
        print("transformers is not there", file=sys.stderr)
        return
    extractor = WhisperFeatureExtractor()
    arrays = [row.numpy() for row in pcm[:16].float() / 32768]
    say("transformers WhisperFeatureExtractor(device=cuda)",
        rate(lambda: extractor(arrays, sampling_rate=RATE, device="cuda", return_tensors="pt"), 16, runs=3, inner=1))


if __name__ == "__main__":
    main()
