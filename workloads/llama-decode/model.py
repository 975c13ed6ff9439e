"""Write a model with random weights: `model.py FOLDER layers=N dimension=N context=N seed=N`.

FOLDER/model.gguf is llama.cpp's format, with blocks of 32 weights of 8 bits (Q8_0). FOLDER/expected.json has
a prompt, and the logarithm of the probability of each token behind it, worked out in double precision.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gguf
import numpy as np
import transformer
from gguf.quants import dequantize, quantize

#: Tokens 0 to 2 mean something to llama.cpp: unknown, begin and end.
SPECIAL = {"<unk>": gguf.TokenType.UNKNOWN, "<s>": gguf.TokenType.CONTROL, "</s>": gguf.TokenType.CONTROL}
BEGIN = 1
TYPE = gguf.GGMLQuantizationType.Q8_0


def main() -> None:
    """Write both files."""
    folder = Path(sys.argv[1])
    asked = {name: int(value) for name, value in (one.split("=", 1) for one in sys.argv[2:])}
    layers, dimension, context = asked["layers"], asked["dimension"], asked["context"]
    draw = np.random.default_rng(asked["seed"])
    weights = {}
    for name, shape in transformer.matrices(layers, dimension):
        # A product with a state of variance 1 has a variance of 1.
        values = draw.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(shape[1]))
        weights[name] = quantize(values, TYPE)
    prompt = [BEGIN, *map(int, draw.integers(len(SPECIAL), transformer.VOCABULARY, context - 1))]

    def in_double_precision(name: str) -> transformer.Array:
        return dequantize(weights[name], TYPE).astype(np.float64)

    found = transformer.log_probabilities(in_double_precision, layers, prompt)
    (folder / "expected.json").write_text(json.dumps({"prompt": prompt, "log_probabilities": found.tolist()}))
    _write(folder / "model.gguf", layers, dimension, weights)


def _write(file: Path, layers: int, dimension: int, weights: dict[str, np.ndarray]) -> None:
    writer = gguf.GGUFWriter(file, "llama")
    heads = dimension // transformer.HEAD
    writer.add_context_length(4096)
    writer.add_embedding_length(dimension)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(transformer.hidden(dimension))
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(transformer.EPSILON)
    writer.add_rope_dimension_count(transformer.HEAD)
    writer.add_rope_freq_base(transformer.BASE)
    writer.add_vocab_size(transformer.VOCABULARY)
    plain = [f"t{number}" for number in range(len(SPECIAL), transformer.VOCABULARY)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*SPECIAL, *plain])
    writer.add_token_scores([0.0] * transformer.VOCABULARY)
    writer.add_token_types([*SPECIAL.values(), *[gguf.TokenType.NORMAL] * len(plain)])
    writer.add_bos_token_id(BEGIN)
    for name, values in weights.items():
        writer.add_tensor(name, values, raw_dtype=TYPE)
    for name in transformer.norms(layers):
        writer.add_tensor(name, np.ones(dimension, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
