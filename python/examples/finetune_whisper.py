"""Fine-tunes a Whisper on a Melforge dataset with Hugging Face's Seq2SeqTrainer.

    python examples/finetune_whisper.py DATASET --steps 20

As it stands it needs no download and runs on a CPU in a minute: the model is a tiny one
with random weights, and the tokenizer knows bytes only. For the real thing take both
from a checkpoint and leave the rest as it is:

    tokenizer = WhisperTokenizer.from_pretrained("openai/whisper-small", language="en", task="transcribe")
    model = WhisperForConditionalGeneration.from_pretrained("openai/whisper-small")
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
from pathlib import Path

from transformers import (
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    WhisperConfig,
    WhisperForConditionalGeneration,
    WhisperTokenizer,
    set_seed,
)

import melforge

log = logging.getLogger("finetune")

SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|translate|>", "<|transcribe|>", "<|nospeech|>",
           "<|notimestamps|>"]


def byte_letters() -> list[str]:
    """The letters that byte-level BPE writes the 256 bytes with (as GPT-2 and Whisper do)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    letters = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}
    return [letters[b] for b in range(256)]


def tiny_tokenizer(folder: Path) -> WhisperTokenizer:
    """A tokenizer with a token for each byte, and Whisper's special ones."""
    vocab = {token: i for i, token in enumerate([*byte_letters(), *SPECIAL])}
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "WhisperTokenizer"}))
    return WhisperTokenizer.from_pretrained(folder, additional_special_tokens=SPECIAL, language="en", task="transcribe")


def tiny_model(tokenizer: WhisperTokenizer, n_mels: int) -> WhisperForConditionalGeneration:
    """A Whisper with random weights that a CPU trains."""
    end, start = tokenizer.convert_tokens_to_ids(SPECIAL[:2])
    return WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=len(tokenizer), num_mel_bins=n_mels, d_model=64, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=128, decoder_ffn_dim=128,
        decoder_start_token_id=start, bos_token_id=end, eos_token_id=end, pad_token_id=end,
        suppress_tokens=None, begin_suppress_tokens=None,
    ))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--stream", action="store_true", help="melforge.IterableDataset instead of melforge.Dataset")
    parser.add_argument("--out", type=Path, help="where checkpoints go (default: nowhere)")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")

    with tempfile.TemporaryDirectory() as scratch:
        tokenizer = tiny_tokenizer(Path(scratch))
        set_seed(0)
        reader = melforge.open(args.dataset)
        model = tiny_model(tokenizer, reader.n_mels)
        masks = melforge.SpecAugment(seed=1)
        if args.stream:
            data = melforge.IterableDataset(reader, args.batch_size, seed=1, augment=masks)
        else:
            data = melforge.Dataset(reader, augment=masks)
        trainer = Seq2SeqTrainer(
            model=model,
            args=Seq2SeqTrainingArguments(
                output_dir=str(args.out or scratch), max_steps=args.steps, per_device_train_batch_size=args.batch_size,
                learning_rate=3e-3, logging_steps=max(args.steps // 5, 1), save_strategy="steps" if args.out else "no",
                save_steps=max(args.steps // 2, 1), dataloader_num_workers=args.workers, report_to=[], use_cpu=True,
                remove_unused_columns=False,  # or it drops what the collator needs
            ),
            train_dataset=data,
            data_collator=melforge.Collator(tokenizer, model.config.decoder_start_token_id,
                                            max_labels=model.config.max_target_positions),
        )
        trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    log.info("loss %.3f -> %.3f over %d steps", float(losses[0]), float(losses[-1]), trainer.state.global_step)


if __name__ == "__main__":
    main()
