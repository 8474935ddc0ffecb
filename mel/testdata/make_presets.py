"""Writes what the real libraries make of clips that the Go test makes as well.

In the environment that scripts/parity sets up, from the repository's root:
    scripts/parity --goldens

torchaudio-db   torchaudio 2.11.0's MelSpectrogram in float64, then
                clamp_min(1e-10).log10()·20
nemo-80         FilterbankFeatures of nemo_toolkit 3.0.0's own features.py,
                loaded without the rest of NeMo; in float64, for which its
                stft, which casts the window to float32, is repeated here
kaldi-fbank-80  kaldi-native-fbank 1.22.4, whose float32 is good to some 5e-4 in
                faint bands; and torchaudio's port of Kaldi in float64
hifigan-80      the function mel_spectrogram of HiFi-GAN's meldataset.py, which
                is in no package, repeated here on torch 2.15.0 and
                librosa 0.11.0, in float64

Written: presets.json, for each preset and clip the number of frames and which
of them are kept; presets.f32, those frames one after another, row-major.
"""

import importlib.util
import json
import logging
import pathlib
import sys
import types
import zipfile

import kaldi_native_fbank
import librosa
import numpy as np
import torch
import torchaudio

HERE = pathlib.Path(__file__).parent
torch.set_default_dtype(torch.float64)


def noise(n, shift):
    """A 32-bit LCG's upper half."""
    state, out = 12345, np.empty(n, np.int16)
    for i in range(n):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = ((state >> 16) - 32768) >> shift
    return out


CLIPS = {
    "speech": np.fromfile(HERE / "speech.s16", "<i2"),
    "noise": noise(5000, 0),
    "faint noise": noise(5000, 11),
    "square": np.array([9000 if i // 18 % 2 == 0 else -9000 for i in range(3000)], np.int16),
    "short": noise(1100, 2),
}


def unit(x):
    return torch.from_numpy(x / 32768.0)


def torchaudio_db(x):
    mel = torchaudio.transforms.MelSpectrogram(sample_rate=16000, n_fft=400, hop_length=160, n_mels=80)
    return mel(unit(x)).clamp_min(1e-10).log10() * 20


def nemo_features(wheel):
    """NeMo's features module, with what it imports of NeMo left empty."""
    for name, content in {
        "nemo.collections.asr.parts.preprocessing.perturb": {"AudioAugmentor": None},
        "nemo.collections.asr.parts.preprocessing.segment": {"AudioSegment": None},
        "nemo.utils": {"logging": logging},
    }.items():
        parts = name.split(".")
        for i in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(parts[i - 1]))
        vars(sys.modules[name]).update(content)
    source = zipfile.ZipFile(wheel).read("nemo/collections/asr/parts/preprocessing/features.py")
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("nemo_features", None))
    exec(compile(source, "features.py", "exec"), module.__dict__)
    return module


def nemo(wheel):
    features = nemo_features(wheel).FilterbankFeatures(
        sample_rate=16000, n_window_size=400, n_window_stride=160, n_fft=512, nfilt=80, dither=0.0, pad_to=0
    )
    features.eval()
    features.fb = torch.from_numpy(
        librosa.filters.mel(sr=16000, n_fft=512, n_mels=80, fmin=0, fmax=8000, norm="slaney", dtype=np.float64)
    ).unsqueeze(0)
    features.stft = lambda x: torch.stft(
        x, n_fft=512, hop_length=160, win_length=400, center=True,
        window=torch.hann_window(400, periodic=False), return_complex=True, pad_mode="constant",
    )

    def compute(x):
        mel, n = features(unit(x).unsqueeze(0), torch.tensor([len(x)]))
        return mel[0, :, : n[0]]

    return compute


def kaldi(x):
    opts = kaldi_native_fbank.FbankOptions()
    opts.frame_opts.dither = 0
    opts.mel_opts.num_bins = 80
    fbank = kaldi_native_fbank.OnlineFbank(opts)
    fbank.accept_waveform(16000, x.astype(np.float32).tolist())
    fbank.input_finished()
    return torch.from_numpy(np.stack([fbank.get_frame(i) for i in range(fbank.num_frames_ready)], 1))


def kaldi64(x):
    return torchaudio.compliance.kaldi.fbank(
        torch.from_numpy(x.astype(np.float64)).unsqueeze(0), num_mel_bins=80, sample_frequency=16000
    ).T


def hifigan(x):
    basis = torch.from_numpy(librosa.filters.mel(sr=22050, n_fft=1024, n_mels=80, fmin=0, fmax=8000, dtype=np.float64))
    y = torch.nn.functional.pad(unit(x)[None, None], (384, 384), mode="reflect")[0]
    spec = torch.stft(
        y, 1024, hop_length=256, win_length=1024, window=torch.hann_window(1024), center=False,
        normalized=False, onesided=True, return_complex=True,
    )
    spec = torch.sqrt(torch.view_as_real(spec).pow(2).sum(-1) + 1e-9)
    return torch.log(torch.clamp(basis @ spec, min=1e-5))[0]


def main(wheel):
    golden = []
    with open(HERE / "presets.f32", "wb") as out:
        for preset, library, tolerance, compute in (
            ("torchaudio-db", "torchaudio", 1e-4, torchaudio_db),
            ("nemo-80", "NeMo", 1e-4, nemo(wheel)),
            ("kaldi-fbank-80", "torchaudio", 1e-4, kaldi64),
            ("kaldi-fbank-80", "kaldi-native-fbank", 1e-3, kaldi),
            ("hifigan-80", "HiFi-GAN", 1e-4, hifigan),
        ):
            for clip, x in CLIPS.items():
                mel = compute(x).numpy()
                n = mel.shape[1]
                frames = sorted({0, 1, 2, n - 3, n - 2, n - 1} | set(range(0, n, 9)))
                frames = [t for t in frames if 0 <= t < n]
                golden.append(
                    {"preset": preset, "library": library, "tolerance": tolerance, "clip": clip}
                    | {"samples": len(x), "total": n, "frames": frames}
                )
                out.write(mel[:, frames].T.astype("<f4").tobytes())
    lines = ",\n".join(json.dumps(entry) for entry in golden)
    (HERE / "presets.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main(sys.argv[1])
