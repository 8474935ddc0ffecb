"""Writes the folder tiny, a small random Whisper as transformers saves it, and
golden.safetensors, what transformers computes with it: the loss, logits, all
gradients, the losses of a short training and greedy transcripts. The tokenizer
is Whisper's kind with few words; tokens.json is what it makes of some texts.

Run with the virtual environment of scripts/parity:
    python trainer/hf/testdata/make_golden.py
"""

import json
import pathlib

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperTokenizer, get_scheduler

HERE = pathlib.Path(__file__).parent
SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|zh|>", "<|de|>", "<|translate|>", "<|transcribe|>"]
SPECIAL += ["<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
WORDS = 276  # 256 bytes and 20 merges
IDS = {t: WORDS + i for i, t in enumerate(SPECIAL)}
CONFIG = dict(
    vocab_size=WORDS + len(SPECIAL), num_mel_bins=8, d_model=16, encoder_layers=2, decoder_layers=2,
    encoder_attention_heads=2, decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=24,
    max_source_positions=20, max_target_positions=24, decoder_start_token_id=IDS["<|startoftranscript|>"],
    pad_token_id=WORDS, bos_token_id=WORDS, eos_token_id=WORDS, suppress_tokens=None, begin_suppress_tokens=None,
)
TEXTS = [
    "", "the cat", " the cat sat on the mat.", "It's 3 o'clock; they'll say: \"no\"!", "  two  spaces\tand a tab\nline ",
    "Grüße aus Köln", "Привет, мир", "日本語です", "नमस्ते", "مرحبا", "🙂 ok", "e\u0301clair", "a<|en|>b", "1234567 km/h",
]
BATCH, LENGTH, STEPS = 3, 9, 20
PROMPT = [IDS[t] for t in ("<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>")]
SUPPRESS, BEGIN = [3, 7, IDS["<|en|>"]], [5, WORDS]


def tokenizer():
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=WORDS, initial_alphabet=alphabet, show_progress=False)
    bpe.train_from_iterator(["the cat sat on the mat and the dog sat on that cat; they say it is late"] * 3, trainer)
    learnt = json.loads(bpe.to_str())["model"]
    special = SPECIAL[1:]
    return WhisperTokenizer(vocab=learnt["vocab"], merges=[tuple(m) for m in learnt["merges"]], additional_special_tokens=special)


def spoken(t, texts, languages):
    """What a tokenizer makes of texts, as tokens.json has it."""
    out = []
    for language in languages:
        t.set_prefix_tokens(language=language, task="transcribe", predict_timestamps=False)
        for text in texts:
            ids = t(text).input_ids
            out.append({"text": text, "language": language, "ids": ids, "decoded": t.decode(ids, skip_special_tokens=True)})
    return json.dumps(out, ensure_ascii=True, separators=(",", ":")) + "\n"


def tokens():
    t = tokenizer()
    assert t.convert_tokens_to_ids(SPECIAL) == list(IDS.values()), t.convert_tokens_to_ids(SPECIAL)
    t.save_pretrained(HERE / "tiny")
    (HERE / "tokens.json").write_text(spoken(t, TEXTS, ("en", "de")))


def model():
    torch.manual_seed(1)
    m = WhisperForConditionalGeneration(WhisperConfig(**CONFIG))
    with torch.no_grad():
        for name, p in m.named_parameters():
            if p.requires_grad:  # far from the start, where everything is nearly zero
                p.add_(torch.randn_like(p) * 0.2)
    g = m.generation_config
    g.suppress_tokens, g.begin_suppress_tokens = SUPPRESS, BEGIN
    g.is_multilingual = True
    g.lang_to_id = {t: IDS[t] for t in ("<|en|>", "<|zh|>", "<|de|>")}
    g.task_to_id = {t: IDS[f"<|{t}|>"] for t in ("transcribe", "translate")}
    g.no_timestamps_token_id = IDS["<|notimestamps|>"]
    g.max_length = CONFIG["max_target_positions"]
    return m


def batch(config, size, length):
    """Random mels, and labels of which some do not count."""
    mels = torch.randn(size, config["num_mel_bins"], 2 * config["max_source_positions"])
    labels = torch.randint(0, config["eos_token_id"], (size, length))
    labels[1, length * 2 // 3 :] = -100
    labels[2, 2:] = -100
    return mels, labels


def train(m, mels, labels, steps):
    """AdamW with decay and clipping on a cosine schedule: the losses before each update."""
    spared = [p for n, p in m.named_parameters() if p.requires_grad and ("bias" in n or "norm" in n)]
    decayed = [p for n, p in m.named_parameters() if p.requires_grad and not ("bias" in n or "norm" in n)]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": spared, "weight_decay": 0.0}], lr=3e-3)
    scheduler = get_scheduler("cosine", optimizer, 4, steps)
    losses = []
    for _ in range(steps):
        loss = m(input_features=mels, labels=labels).loss
        losses.append(loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    return torch.tensor(losses)


def transcripts(m, mels, prompt):
    """Greedy transcripts with their prompts."""
    prompt = torch.tensor([prompt] * len(mels))
    out = m.generate(
        encoder_outputs=m.model.encoder(mels), decoder_input_ids=prompt, do_sample=False, num_beams=1,
        max_length=m.generation_config.max_length, return_timestamps=False,
    )
    if out.shape[1] == 0 or out[0, 0] != prompt[0, 0]:  # some versions strip the prompt
        out = torch.cat([prompt, out], 1)
    return out


def compute(m, mels, labels, prompt, steps):
    """All that a Go test compares with, by name; without steps only gradients. Trains m."""
    golden = {"mels": mels, "labels": labels.int()}
    out = m(input_features=mels, labels=labels)
    out.loss.backward()
    golden["loss"], golden["logits"] = out.loss.detach().reshape(1), out.logits.detach()
    for name, p in m.named_parameters():
        if p.grad is not None:
            golden["grad." + name] = p.grad.detach().clone()
    if steps:
        m.eval()
        golden["transcripts"] = transcripts(m, mels, prompt).int()
        m.train()
        m.zero_grad()
        golden["losses"] = train(m, mels, labels, steps)
        golden["trained.logits"] = m(input_features=mels, labels=labels).logits.detach()
    return {k: v.contiguous() for k, v in golden.items()}


def main():
    m = model()
    m.save_pretrained(HERE / "tiny")
    WhisperFeatureExtractor(feature_size=CONFIG["num_mel_bins"]).save_pretrained(HERE / "tiny")
    tokens()
    save_file(compute(m, *batch(CONFIG, BATCH, LENGTH), PROMPT, STEPS), HERE / "golden.safetensors")


if __name__ == "__main__":
    main()
