"""The Python half of scripts/parity-train.

    parity-train.py make DIR [--full]   writes models and what transformers computes with them
    parity-train.py check DIR           loads what Go made of them and compares
"""

import base64
import pathlib
import random
import sys

import numpy as np
import torch
import whisper
from safetensors.torch import load_file, save_file
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperTokenizer
from transformers.convert_slow_tokenizer import bytes_to_unicode
from transformers.utils import logging

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "trainer" / "hf" / "testdata"))
import make_golden as golden  # noqa: E402

logging.set_verbosity_error()
logging.disable_progress_bar()
BAR = 1e-3
IDS = dict(decoder_start_token_id=50258, pad_token_id=50257, bos_token_id=50257, eos_token_id=50257)
SMALL = dict(
    d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
    encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=100, max_target_positions=32, vocab_size=51865,
    num_mel_bins=80, **IDS,
)
TINY = dict(
    d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6,
    encoder_ffn_dim=1536, decoder_ffn_dim=1536, max_source_positions=1500, max_target_positions=448, vocab_size=51865,
    num_mel_bins=80, **IDS,
)
PROMPT = [50258, 50259, 50359, 50363]
SUPPRESS = [1, 2, 7, 8, 9, 10, 14, 25, 50258, 50358, 50359, 50360, 50361, 50362]


def merges(ranks):
    """The pairs that byte-level BPE merges, from tiktoken's ranks of whole tokens."""
    pairs = []
    for token, rank in sorted(ranks.items(), key=lambda kv: kv[1]):
        if len(token) < 2:  # one token is empty
            continue
        parts = [bytes([b]) for b in token]
        while len(parts) > 2:
            best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], rank))
            parts[best : best + 2] = [parts[best] + parts[best + 1]]
        pairs.append(tuple(parts))
    return pairs


def tokenizer():
    """Whisper's multilingual tokenizer, rebuilt from OpenAI's package."""
    path = pathlib.Path(whisper.__file__).parent / "assets" / "multilingual.tiktoken"
    lines = path.read_bytes().splitlines()
    ranks = {base64.b64decode(t): int(r) for t, r in (line.split() for line in lines if line)}
    letters = bytes_to_unicode()
    spell = lambda token: "".join(letters[b] for b in token)  # noqa: E731
    special = ["<|startoftranscript|>"] + [f"<|{code}|>" for code in list(whisper.tokenizer.LANGUAGES)[:99]]
    special += ["<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    t = WhisperTokenizer(
        vocab={spell(k): v for k, v in ranks.items()},
        merges=[(spell(a), spell(b)) for a, b in merges(ranks)],
        additional_special_tokens=special,
    )
    t.add_tokens([f"<|{i * 0.02:.2f}|>" for i in range(1501)])
    assert len(t) == 51865 and t.convert_tokens_to_ids("<|notimestamps|>") == PROMPT[-1]
    return t


def texts():
    """Real sentences and random strings of many scripts."""
    rng = random.Random(5)
    out = golden.TEXTS + [
        "She sells sea shells on the sea shore; the shells she sells are sea shells, I'm sure.",
        "Das Wetter ist schön, nicht wahr? Ja, sehr!", "¿Dónde está la biblioteca?", "L'été où tu m'as dit « non ».",
        "Это было давно — и неправда.", "私は毎日コーヒーを飲みます。", "今天天气很好,我们去公园吧!", "한국어 문장입니다.",
        "शुभ प्रभात, आप कैसे हैं?", "שלום עולם", "ภาษาไทย", "we'll they've I'd it's don't can't you're I'M",
        "  leading", "trailing  ", "a\u00a0b\u3000c", "tab\there\r\nnewline\n\n\nend", "x²+y³≠∞ ½ Ⅷ ٣", "👩‍👩‍👧‍👦 family",
    ]
    ranges = [(32, 127)] * 6 + [(0xC0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x6FF), (0x900, 0x97F), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0x1F600, 0x1F64F), (0x2000, 0x206F)]
    for _ in range(1000):
        letters = []
        for _ in range(rng.randrange(1, 12)):
            low, high = rng.choice(ranges)
            letters.append("".join(chr(rng.randrange(low, high)) for _ in range(rng.randrange(1, 6))) + rng.choice(["", " ", "  ", "'s", ", "]))
        out.append("".join(letters))
    return out


def write(where, config, size, length, steps):
    torch.manual_seed(3)
    m = WhisperForConditionalGeneration(WhisperConfig(**config, suppress_tokens=None, begin_suppress_tokens=None))
    with torch.no_grad():
        for p in m.parameters():
            if p.requires_grad:
                p.add_(torch.randn_like(p) * 0.5 * p.std().nan_to_num(0.0).clamp(min=0.02))
    g = m.generation_config
    g.suppress_tokens, g.begin_suppress_tokens = SUPPRESS, [220, 50257]
    g.is_multilingual, g.no_timestamps_token_id, g.max_length = True, PROMPT[-1], config["max_target_positions"]
    g.lang_to_id, g.task_to_id = {"<|en|>": 50259}, {"transcribe": 50359}
    m.save_pretrained(where / "model")
    WhisperFeatureExtractor(feature_size=80).save_pretrained(where / "model")
    tokenizer().save_pretrained(where / "model")
    mels, labels = golden.batch(config, size, length)
    save_file(golden.compute(m, mels, labels, PROMPT, steps), where / "golden.safetensors")


def make(where, full):
    where.mkdir(parents=True, exist_ok=True)
    print("parity-train: transformers computes")
    write(where, SMALL, 3, 16, golden.STEPS)
    (where / "tokens.json").write_text(golden.spoken(tokenizer(), texts(), ("en", "ja")))
    if full:
        big = where / "full"
        big.mkdir()
        write(big, TINY, 3, 24, 0)


def distance(a, b):
    return ((a - b).abs().max() / b.abs().max()).item()


def check(where):
    want = load_file(where / "golden.safetensors")
    mels, labels = want["mels"], want["labels"].long()
    failed = False
    for name, reference, bar in (
        ("saved", "logits", 1e-6), ("trained", "trained.logits", BAR), ("trained-bf16", "trained.logits", 0.05), ("trained-f16", "trained.logits", 0.01),
    ):
        m = WhisperForConditionalGeneration.from_pretrained(where / name)
        dtype = {"saved": torch.float32, "trained": torch.float32, "trained-bf16": torch.bfloat16, "trained-f16": torch.float16}[name]
        assert m.dtype == dtype, (name, m.dtype)
        with torch.no_grad():
            got = m.float()(input_features=mels, labels=labels).logits
        off = distance(got, want[reference])
        failed |= not off <= bar
        print(f"parity-train: transformers on Go's {name} model: logits off by {off:.1e} (bar {bar:g})")
    original, again = (load_file(where / d / "model.safetensors") for d in ("model", "saved"))
    same = original.keys() == again.keys() and all(np.array_equal(original[k].numpy(), again[k].numpy()) for k in original)
    print(f"parity-train: weights read and written by Go are {'the same bits' if same else 'DIFFERENT'}")
    t = WhisperTokenizer.from_pretrained(where / "trained", language="en", task="transcribe")
    same_tokens = t(" Hello there.").input_ids == PROMPT + [2425, 456, 13, 50257]
    print(f"parity-train: the tokenizer beside it is {'right' if same_tokens else 'WRONG'}")
    if failed or not same or not same_tokens:
        sys.exit("parity-train: FAILED")
    print("parity-train: ok")


if __name__ == "__main__":
    command, where = sys.argv[1], pathlib.Path(sys.argv[2])
    if command == "make":
        make(where, "--full" in sys.argv[3:])
    else:
        check(where)
