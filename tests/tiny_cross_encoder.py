"""A CrossEncoder of a few kilobytes with random weights, in a folder as sentence-transformers reads it."""

from __future__ import annotations

import string
from pathlib import Path


def make_cross_encoder(folder: Path, *, labels: int = 1, forgotten: str = "") -> Path:
    """Writes config, weights and a tokenizer of single letters; the weights are the same each time.

    `forgotten`: a letter that the tokenizer knows and the weights do not, so that a text with it fails.
    """
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    letters = [*string.ascii_lowercase, *string.digits]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    words += [forgotten] if forgotten else []
    tokenizer = BertTokenizer({word: number for number, word in enumerate(words)}, model_max_length=64)
    config = BertConfig(
        vocab_size=len(words) - len(forgotten),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        initializer_range=1.0,
    )
    config.num_labels = labels
    with torch.random.fork_rng():
        torch.manual_seed(1)
        BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
