"""The audit: what it sees in source, on a stack, and in scripts that really train."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import textwrap
import unittest
from typing import List

from melforge.audit import samples
from melforge.audit.__main__ import main
from melforge.audit.kinds import kind_of
from melforge.audit.scan import scan

from .folders import ROOT, FolderCase

try:
    import torch
except ImportError:
    torch = None

TRAINING = """
import sys
import torch
from torch.utils.data import DataLoader, Dataset
from voice import synthesize

class Spoken(Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, i):
        return synthesize(i)

if __name__ == "__main__":
    model = torch.nn.Linear(4, 1)
    context = sys.argv[2] if len(sys.argv) > 2 else None
    loader = DataLoader(Spoken(), batch_size=4, num_workers=int(sys.argv[1]), multiprocessing_context=context)
    for epoch in range(int(1e9)):
        for batch in loader:
            model(batch).sum().backward()
"""

VOICE = """
import hashlib
import torch

def synthesize(i):
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", 40000)
    return torch.ones(4) * i
"""


class SourceCase(FolderCase):
    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(textwrap.dedent(text))

    def seen(self) -> List[tuple]:
        return [(f.file.rsplit("/", 1)[-1], f.line, f.weight, f.what) for f in scan(self.folder / "train.py")]


class ScanTest(SourceCase):
    def check(self, source: str, *want: tuple) -> None:
        """Wants these findings and no others: line, weight and a word of what is said."""
        self.write(train=source)
        got = self.seen()
        self.assertEqual([(line, weight) for _, line, weight, _ in got], [w[:2] for w in want], got)
        for (_, _, _, what), (_, _, word) in zip(got, want):
            self.assertIn(word, what)

    def test_loaders(self) -> None:
        for call, want in {
            "DataLoader(data)": "without num_workers",
            "DataLoader(data, num_workers=0)": "without num_workers",
            "torch.utils.data.DataLoader(data, 8, True, None, None, 0)": "without num_workers",
            "DataLoader(data, 8, True, None, None, 4)": "without persistent_workers",
            "DataLoader(data, num_workers=4)": "without persistent_workers",
            "DataLoader(data, num_workers=n, persistent_workers=True)": "",
            "DataLoader(data, **options)": "",
            "melforge.Loader(data, collate)": "",
        }.items():
            with self.subTest(call):
                weight = "costs" if "num_workers" in want else "may cost"
                self.check(f"loader = {call}\n", *([(1, weight, want)] if want else []))
        self.check('DataLoader(data, num_workers=4, persistent_workers=True).to("cuda")\n', (1, "may cost", "pin_memory"))

    def test_arguments(self) -> None:
        self.check("Seq2SeqTrainingArguments(output_dir='x', bf16=True)\n", (1, "costs", "dataloader_num_workers"))
        self.check("TrainingArguments('x', dataloader_num_workers=2)\n", (1, "costs", "float32"))
        self.check("TrainingArguments('x', dataloader_num_workers=2, fp16=True)\n")

    def test_every_item(self) -> None:
        self.write(voice="""
            from piper import PiperVoice
            def say(text):
                return say_all([text])
            def say_all(texts):
                return [voice.synthesize(t) for t in texts] or say("again")
        """)
        self.check(
            """
            from voice import say
            class Spoken(Dataset):
                def __getitem__(self, i):
                    return self.mel(say(self.texts[i]))
                def mel(self, x):
                    return extractor.feature_extractor(x)
            def gather(items):
                return tokenizer([i["text"] for i in items])
            def prepare(batch):
                return librosa.load(batch["path"])  # once, with map
            data = data.map(prepare)
            loader = DataLoader(Spoken(), num_workers=2, persistent_workers=True, collate_fn=gather)
            """,
            (6, "blocks", "speech in __getitem__"), (7, "costs", "features in __getitem__"), (9, "may cost", "tokens in gather"),
        )
        self.assertEqual(self.seen()[0][0], "voice.py")

    def test_loop(self) -> None:
        self.check(
            """
            for batch in train_loader:
                loss = model(batch)
                loss.backward()
                total += loss.item()
                if step % 100 == 0:
                    print(loss.item())
                print(loss.item()) if last else None
            """,
            (2, "costs", "float32"), (5, "may cost", "loss.item()"),
        )
        self.check("with torch.autocast('cuda'):\n    for batch in loader:\n        model(batch).backward()\n")

    def test_unreadable(self) -> None:
        self.write(broken="def (:\n")
        self.check("import broken\nimport train\n", (1, "may cost", "cannot be read"))

    def test_only_read(self) -> None:
        self.write(train="raise SystemExit('it ran')\n")
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(main([str(self.folder / "train.py"), "--scan"]), 0)
        self.assertIn("nothing", said.getvalue())
        for arguments in (["missing.py"], [str(self.folder / "train.py"), "--steps", "0"]):
            with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
                main(arguments)
            self.assertEqual(ended.exception.code, 2)


class SamplesTest(SourceCase):
    def test_kinds(self) -> None:
        for text, want in {
            "site-packages/piper/voice.py synthesize": "speech", "subprocess.run(['espeak-ng', text])": "speech",
            "feature_extraction_whisper.py _np_extract_fbank_features": "features", "torchaudio.functional.resample(x)": "resampling",
            "soundfile.read(path)": "decoding", "tokenization_whisper.py": "tokens", "h5py.File(path)": None, "embarking": None,
        }.items():
            kind = kind_of(text)
            self.assertEqual(kind.name if kind else None, want, text)

    def test_place(self) -> None:
        self.write(voice="def synthesize(look):\n    return look()\n")
        source = self.folder / "voice.py"
        names: dict = {}
        exec(compile(source.read_text(), str(source), "exec"), names)  # as if it was imported
        place = names["synthesize"](lambda: samples.place_of(sys._getframe(1)))
        self.assertEqual(place, samples.Place(str(source), 2, "synthesize", "speech"))
        self.assertEqual(samples.place_of(None), None)


@unittest.skipIf(torch is None, "torch is not installed")
class WatchTest(SourceCase):
    def audit(self, *args: str, code: int = 0) -> subprocess.CompletedProcess:
        """Runs the command as a user does."""
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "melforge.audit", str(self.folder / "train.py"), *args],
            cwd=ROOT.parent, capture_output=True, text=True, check=False,
        )
        self.assertEqual(run.returncode, code, run.stderr)
        return run

    def report(self, *args: str) -> dict:
        return json.loads(self.audit("--json", *args).stdout.splitlines()[-1])

    def test_steps(self) -> None:
        self.write(train=TRAINING, voice=VOICE)
        for workers in (["0"], ["2"], ["1", "spawn"]):
            with self.subTest(workers):
                trace = self.folder / "trace.json"
                r = self.report("--steps", "8", "--warmup", "1", "--trace", str(trace), "--", *workers)  # an epoch has 3
                self.assertEqual((r["steps"], r["in_workers"], r["device"]), (8, workers != ["0"], "cpu"))
                self.assertTrue(0 < r["waited_seconds"] < r["seconds"])
                place = r["places"][0]
                self.assertEqual((place["kind"], place["line"], place["function"]), ("speech", 6, "synthesize"))
                self.assertIn("melforge run", place["advice"])
                spans = [e for e in json.loads(trace.read_text()) if e["ph"] == "X"]
                self.assertEqual([e["name"] for e in spans], ["wait for data", "step"] * 8)
                for a, b in zip(spans, spans[1:]):
                    self.assertGreaterEqual(b["ts"], a["ts"] + a["dur"] - 1e-3)

    def test_text(self) -> None:
        self.write(train=TRAINING, voice=VOICE)
        said = self.audit("--steps", "3", "--max-waiting", "0", "--", "0", code=3).stdout
        self.assertRegex(said, r"(?s)3 steps of .* waiting for data; .* speech .*voice.py:6 in synthesize\n.*first: speak the corpus once")

    def test_ends_itself(self) -> None:
        self.write(train="from torch.utils.data import DataLoader\nn = sum(len(b) for b in DataLoader(list(range(12)), 2))\nprint('all', n)\n")
        run = self.audit("--warmup", "2", "--json")
        self.assertTrue(run.stdout.startswith("all 12\n"))
        self.assertEqual(json.loads(run.stdout.splitlines()[-1])["steps"], 4)

    def test_interrupted(self) -> None:
        self.write(train="""
            from torch.utils.data import DataLoader
            class Data(list):
                def __getitem__(self, i):
                    if i == 8:
                        raise KeyboardInterrupt
                    return i
            for batch in DataLoader(Data(range(12)), 2):
                pass
        """)
        self.assertRegex(self.audit("--warmup", "1", code=130).stdout, "3 steps of")

    def test_none(self) -> None:
        self.write(train="import sys\nassert sys.argv[1:] == ['--x', '--'], sys.argv\nsys.exit(0)\n")
        self.assertIn("no step was measured", self.audit("--", "--x", "--").stdout)

    def test_fails(self) -> None:
        self.write(train="def inner():\n    raise RuntimeError('no such device')\ninner()\n")
        self.assertIn("no such device", self.audit(code=1).stderr)


if __name__ == "__main__":
    unittest.main()
