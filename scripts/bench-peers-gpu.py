#!/usr/bin/env python3
"""What other programs make of the same work on the same GPU, as one table.

    python scripts/bench-peers-gpu.py --melforge bin/melforge

Clips of 30 s, 16 kHz, to Whisper's log-mel of 80 x 3000 in FP16: on the device alone, and from the host's memory to
the host's memory. Then wav files of 1 to 9 s to a synced HDF5 file, with the files in the page cache. "The recipe" is
what people write who want it fast in PyTorch: torch.stft, pinned memory, two streams, a ring of three buffers of 128
clips, threads that read, and rows of equal length in h5py. Rates are medians of several runs, but for whole corpora,
which go through once. Needs torch and torchaudio; h5py and transformers if they are there. With --melforge its own
figures stand beside them, from `melforge bench mel` and `melforge mel` in the same call.
"""
import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
import torchaudio

RATE, SECONDS, BATCH, RING = 16000, 30, 64, 3
LENGTH = RATE * SECONDS
HEADER = 44


class Machine:
    """The device to measure: a GPU, or the CPU to try this script where there is none."""

    def __init__(self, name: str) -> None:
        self.name, self.gpu = name, name == "cuda"

    def wait(self) -> None:
        if self.gpu:
            torch.cuda.synchronize()

    def pinned(self, *shape: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.zeros(*shape, dtype=dtype, pin_memory=self.gpu)

    def stream(self):
        return torch.cuda.Stream() if self.gpu else None

    def on(self, stream):
        return torch.cuda.stream(stream) if self.gpu else contextlib.nullcontext()

    def event(self):
        return torch.cuda.Event() if self.gpu else None


class Table:
    """Rows of one unit. The last row may be Melforge's, to which the others are compared."""

    def __init__(self, title: str, unit: str, as_json: bool) -> None:
        self.title, self.unit, self.as_json, self.rows = title, unit, as_json, []

    def add(self, what: str, value: float, ours: bool = False) -> None:
        self.rows.append((what, value, ours))
        print(json.dumps({"peer": what, self.unit: round(value)}) if self.as_json else f"… {what}: {value:,.0f} {self.unit}",
              file=sys.stdout if self.as_json else sys.stderr, flush=True)

    def show(self) -> None:
        if self.as_json:
            return
        ours = max((v for _, v, mine in self.rows if mine), default=None)
        print(f"\n{self.title:<64} {self.unit:>12}" + ("  Melforge is" if ours else ""))
        for what, value, mine in self.rows:
            times = f"  {ours / value:>8.2f} x" if ours and not mine else ""
            print(f"{what:<64} {value:>12,.0f}{times}")


def rate(machine: Machine, step, clips: int, runs: int, inner: int = 5) -> float:
    """Clips a second of step, with the device's queue drained around each run."""
    for _ in range(min(3, runs)):
        step()
    seen = []
    for _ in range(runs):
        machine.wait()
        start = time.perf_counter()
        for _ in range(inner):
            step()
        machine.wait()
        seen.append(inner * clips / (time.perf_counter() - start))
    return statistics.median(seen)


def scaled(power: torch.Tensor) -> torch.Tensor:
    log = torch.clamp(power, min=1e-10).log10()
    log = torch.maximum(log, log.amax(dim=(1, 2), keepdim=True) - 8.0)
    return ((log + 4.0) / 4.0).half()


class Mels:
    """Whisper's log-mel with torchaudio and with torch.stft."""

    def __init__(self, machine: Machine) -> None:
        self.transform = torchaudio.transforms.MelSpectrogram(
            RATE, n_fft=400, hop_length=160, n_mels=80, norm="slaney", mel_scale="slaney").to(machine.name)
        self.bank = self.transform.mel_scale.fb.T.contiguous()
        self.window = torch.hann_window(400, device=machine.name)

    def torchaudio(self, samples: torch.Tensor) -> torch.Tensor:
        return scaled(self.transform(samples)[..., :-1])

    def stft(self, samples: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(samples, 400, 160, window=self.window, return_complex=True)
        return scaled(self.bank @ spectrum[..., :-1].abs() ** 2)


class Recipe:
    """Pinned memory, two streams, a ring of three."""

    class Slot:
        def __init__(self, machine: Machine, batch: int, dtype: torch.dtype) -> None:
            self.samples = machine.pinned(batch, LENGTH, dtype=dtype)
            self.device = torch.empty(batch, LENGTH, dtype=dtype, device=machine.name)
            self.mels = machine.pinned(batch, 80, 3000, dtype=torch.float16)
            self.copied, self.computed, self.done = machine.event(), machine.event(), machine.event()
            self.used = False

    def __init__(self, machine: Machine, mels: Mels, batch: int, dtype: torch.dtype) -> None:
        self.machine, self.mels, self.batch, self.dtype = machine, mels, batch, dtype
        self.copying, self.computing = machine.stream(), machine.stream()
        self.slots = [self.Slot(machine, batch, dtype) for _ in range(RING)]
        self.turn = 0

    def next(self) -> "Recipe.Slot":
        """The slot whose turn it is; what it had is done."""
        slot = self.slots[self.turn % RING]
        self.turn += 1
        if slot.used and self.machine.gpu:
            slot.done.synchronize()
        return slot

    def launch(self, slot: "Recipe.Slot") -> None:
        """Has a slot whose samples are there copied, computed and copied back."""
        slot.used = True
        with self.machine.on(self.copying):
            slot.device.copy_(slot.samples, non_blocking=True)
            self.mark(slot.copied, self.copying)
        self.after(self.computing, slot.copied)
        with self.machine.on(self.computing):
            samples = slot.device.float() / 32768 if self.dtype == torch.int16 else slot.device
            mel = self.mels.stft(samples)
            self.mark(slot.computed, self.computing)
        self.after(self.copying, slot.computed)
        with self.machine.on(self.copying):
            slot.mels.copy_(mel, non_blocking=True)
            if self.machine.gpu:
                mel.record_stream(self.copying)
            self.mark(slot.done, self.copying)

    def mark(self, event, stream) -> None:
        if self.machine.gpu:
            event.record(stream)

    def after(self, stream, event) -> None:
        if self.machine.gpu:
            stream.wait_event(event)


def transformers_extractor():
    try:
        from transformers import WhisperFeatureExtractor
    except ImportError:
        print("transformers is not there", file=sys.stderr)
        return None
    return WhisperFeatureExtractor()


def clips(machine: Machine, mels: Mels, a: argparse.Namespace) -> None:
    """Clips of 30 s, on the device and host to host."""
    pcm = (torch.randn(a.batch, LENGTH) * 2000).to(torch.int16)
    samples = (pcm.to(machine.name).float() / 32768).contiguous()
    ours = melforge_bench(a)

    alone = Table("clips of 30 s, on the device alone", "clips/s", a.json)
    alone.add("torchaudio MelSpectrogram, no more", rate(machine, lambda: mels.transform(samples), a.batch, a.runs))
    for times in (2, 4):
        more = samples.repeat(times, 1)
        alone.add(f"the same in batches of {times * a.batch}", rate(machine, lambda: mels.transform(more), times * a.batch, a.runs))
        del more
    alone.add("torchaudio MelSpectrogram, log, floor, FP16", rate(machine, lambda: mels.torchaudio(samples), a.batch, a.runs))
    alone.add("torch.stft, mels, log, floor, FP16", rate(machine, lambda: mels.stft(samples), a.batch, a.runs))
    if ours:
        alone.add("Melforge", ours["rates"]["device_only"], ours=True)

    host = Table("clips of 30 s, host to host", "clips/s", a.json)
    pinned, buffer = machine.pinned(a.batch, LENGTH, dtype=torch.int16), torch.empty_like(pcm, device=machine.name)
    pinned.copy_(pcm)
    out = machine.pinned(a.batch, 80, 3000, dtype=torch.float16)

    def one_stream() -> None:
        buffer.copy_(pinned, non_blocking=True)
        out.copy_(mels.torchaudio(buffer.float() / 32768), non_blocking=True)

    host.add("the bus: int16 samples to the device, no more", rate(machine, lambda: buffer.copy_(pinned, non_blocking=True), a.batch, a.runs))
    host.add("torchaudio, int16, one stream", rate(machine, one_stream, a.batch, a.runs))
    for name, dtype in (("float32", torch.float32), ("int16", torch.int16)):
        recipe = Recipe(machine, mels, 2 * a.batch, dtype)
        host.add(f"the recipe, {name}", rate(machine, lambda: recipe.launch(recipe.next()), 2 * a.batch, a.runs))
        del recipe
    if extractor := transformers_extractor():
        arrays = [row.numpy() for row in pcm[:16].float() / 32768]
        host.add(f"transformers WhisperFeatureExtractor(device={machine.name})", rate(
            machine, lambda: extractor(arrays, sampling_rate=RATE, device=machine.name, return_tensors="pt"), len(arrays), min(3, a.runs), 1))
    if ours:
        host.add("Melforge", ours["rates"]["host_to_host"], ours=True)
    alone.show()
    host.show()


def melforge_bench(a: argparse.Namespace) -> dict | None:
    """What Melforge's own benchmark says of the device."""
    if not a.melforge:
        return None
    said = subprocess.run([a.melforge, "bench", "mel", "--engine", "cuda", "--json"], check=True, capture_output=True, text=True)
    return next(m for m in map(json.loads, said.stdout.splitlines()) if m["message_type"] == "bench_gpu")


def make_wavs(folder: Path, n: int) -> list[Path]:
    """Noise of 1 to 9 s. No two files are the same."""
    draw = random.Random(1)
    noise = (np.random.default_rng(1).standard_normal(9 * RATE + n) * 2000).astype("<i2")
    paths = []
    for i in range(n):
        k = draw.randrange(RATE, 9 * RATE)
        head = b"RIFF" + struct.pack("<I", 36 + 2 * k) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16)
        paths.append(folder / f"{i:06d}.wav")
        paths[-1].write_bytes(head + b"data" + struct.pack("<I", 2 * k) + noise[i:i + k].tobytes())
    os.sync()
    return paths


def files(machine: Machine, mels: Mels, a: argparse.Namespace) -> None:
    """Wav files to a synced HDF5 file."""
    try:
        import h5py
    except ImportError:
        print("h5py is not there: files are left out", file=sys.stderr)
        return
    folder = Path(tempfile.mkdtemp(prefix="melforge-peers-", dir=a.folder))
    try:
        (folder / "wavs").mkdir()
        paths = make_wavs(folder / "wavs", a.files)
        table = Table(f"{a.files} wavs of 1 to 9 s to a synced HDF5 file", "files/s", a.json)

        def written(name: str, n: int, work) -> float:
            start = time.perf_counter()
            with h5py.File(folder / name, "w") as f:
                work(f.create_dataset("mel", (n, 80, 3000), dtype="f2"))
                f.flush()
            with open(folder / name, "rb") as f:
                os.fsync(f.fileno())
            took = time.perf_counter() - start
            (folder / name).unlink()
            return n / took

        if extractor := transformers_extractor():
            some = paths[:max(1, len(paths) // 10)]
            table.add(f"transformers and h5py ({len(some)} of them)", written("hf.h5", len(some), lambda rows: by_transformers(machine, extractor, some, rows)))
        by_recipe(machine, mels, 2 * a.batch, paths[:4 * a.batch], np.empty((4 * a.batch, 80, 3000), np.float16))  # warm
        table.add("the recipe, int16, and h5py", written("recipe.h5", len(paths), lambda rows: by_recipe(machine, mels, 2 * a.batch, paths, rows)))
        if a.melforge:
            start = time.perf_counter()
            subprocess.run([a.melforge, "mel", str(folder / "wavs"), "--out", str(folder / "dataset"), "--engine", "cuda", "--json"],
                           check=True, capture_output=True)
            table.add("Melforge, from its start to its end", len(paths) / (time.perf_counter() - start), ours=True)
        table.show()
    finally:
        shutil.rmtree(folder)


def by_transformers(machine: Machine, extractor, paths: list[Path], rows) -> None:
    for at in range(0, len(paths), 16):
        arrays = [np.fromfile(p, "<i2", offset=HEADER).astype(np.float32) / 32768 for p in paths[at:at + 16]]
        rows[at:at + len(arrays)] = extractor(arrays, sampling_rate=RATE, device=machine.name, return_tensors="np")["input_features"]


def by_recipe(machine: Machine, mels: Mels, batch: int, paths: list[Path], rows) -> None:
    recipe = Recipe(machine, mels, batch, torch.int16)
    waiting = []  # slots that are on their way, with where their rows go

    def read(row: np.ndarray, path: Path) -> None:
        samples = np.fromfile(path, "<i2", offset=HEADER)
        row[:len(samples)] = samples
        row[len(samples):] = 0

    def store() -> None:
        slot, at, n = waiting.pop(0)
        if machine.gpu:
            slot.done.synchronize()
        rows[at:at + n] = slot.mels[:n].numpy()

    with ThreadPoolExecutor(os.cpu_count()) as readers:
        for at in range(0, len(paths), batch):
            some = paths[at:at + batch]
            if len(waiting) == RING:
                store()
            slot = recipe.next()
            array = slot.samples.numpy()
            list(readers.map(read, array[:len(some)], some))
            recipe.launch(slot)
            waiting.append((slot, at, len(some)))
        while waiting:
            store()


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--melforge", help="the program, to have its figures beside the others")
    p.add_argument("--files", type=int, default=3000, help="wav files; 0: none")
    p.add_argument("--folder", help="where to put them while measuring")
    p.add_argument("--json", action="store_true", help="a line of JSON for each figure instead of tables")
    p.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu is to try this script where there is no GPU")
    p.add_argument("--batch", type=int, default=BATCH, help="clips in a batch; the recipe takes twice as many")
    p.add_argument("--runs", type=int, default=9, help="runs of which the median is taken")
    a = p.parse_args()
    torch.manual_seed(1)
    machine = Machine(a.device)
    mels = Mels(machine)
    clips(machine, mels, a)
    if a.files:
        files(machine, mels, a)


if __name__ == "__main__":
    main()
