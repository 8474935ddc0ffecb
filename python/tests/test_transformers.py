"""The collator with the real tokenizer, model and trainer of transformers, as the example uses them."""

from __future__ import annotations

import importlib.util
import logging
import sys
import unittest
from unittest import mock

import melforge

from .folders import ROOT, TINY, FolderCase

try:
    import torch
    import transformers
except ImportError:
    transformers = None


def example():
    spec = importlib.util.spec_from_file_location("finetune_whisper", ROOT.parent / "examples" / "finetune_whisper.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@unittest.skipIf(transformers is None, "torch or transformers is not installed")
class WhisperTest(FolderCase):
    def test_labels(self) -> None:
        tokenizer = example().tiny_tokenizer(self.folder)
        model = example().tiny_model(tokenizer, 80)
        start = model.config.decoder_start_token_id
        data = melforge.Dataset(TINY)
        self.assertEqual(tokenizer(data[0]["text"]).input_ids[0], start)  # so there is something to remove
        self.assertNotEqual(tokenizer.bos_token_id, start)  # the trap
        batch = melforge.Collator(tokenizer, start)([data[i] for i in range(5)])
        prefix = tokenizer.convert_tokens_to_ids(["<|en|>", "<|transcribe|>", "<|notimestamps|>"])
        for i, row in enumerate(batch["labels"].tolist()):
            row = [t for t in row if t != -100]
            self.assertEqual((row[:3], row[-1]), (prefix, tokenizer.eos_token_id))
            self.assertEqual(tokenizer.decode(row[3:-1]), data[i]["text"])
        with torch.no_grad():
            self.assertTrue(torch.isfinite(model(**batch).loss))

    def test_trainer(self) -> None:
        module = example()
        for options in ([], ["--stream"], ["--stream", "--workers", "2"]):
            with self.subTest(options), self.assertLogs("finetune", logging.INFO) as logs:
                with mock.patch.object(sys, "argv", ["finetune", str(TINY), "--steps", "3", *options]):
                    module.main()
                self.assertIn("over 3 steps", logs.output[-1])

    def test_trainer_sees_each_sample_once(self) -> None:
        module, seen = example(), []
        tokenizer = module.tiny_tokenizer(self.folder)
        model = module.tiny_model(tokenizer, 80)
        collate = melforge.Collator(tokenizer, model.config.decoder_start_token_id)

        def watch(samples):
            seen.append([s["id"] for s in samples])
            return collate(samples)

        for data in (melforge.Dataset(self.make(11)), melforge.IterableDataset(self.make(11), 4)):
            seen.clear()
            transformers.Seq2SeqTrainer(
                model=model, train_dataset=data, data_collator=watch,
                args=transformers.Seq2SeqTrainingArguments(
                    output_dir=str(self.folder / "out"), num_train_epochs=2, per_device_train_batch_size=4,
                    save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True, remove_unused_columns=False),
            ).train()
            self.assertEqual(len(seen), 6)
            for epoch in (seen[:3], seen[3:]):
                self.assertEqual(sorted(sum(epoch, [])), sorted(f"e{i}" for i in range(11)))
            self.assertNotEqual(seen[:3], seen[3:])


if __name__ == "__main__":
    unittest.main()
