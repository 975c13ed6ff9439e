"""LLaMA's decoder in double precision: what a program that makes tokens has to agree with.

The layers are RMSNorm, attention with rotated positions, and a gated feed-forward network (Touvron et al.,
LLaMA, arXiv:2302.13971, section 2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Dimensions of a head of attention: of LLaMA 7B, whose 4096 are in 32 heads (Touvron et al., table 2).
HEAD = 128
EPSILON = 1e-5
#: Of the rotation's angles (Su et al., RoFormer, arXiv:2104.09864, section 3.2.2).
BASE = 10_000.0
VOCABULARY = 512


def hidden(dimension: int) -> int:
    """Dimension of the feed-forward network: LLaMA 7B has 11008 for 4096, here in whole blocks of 256."""
    return max(256, dimension * 11008 // 4096 // 256 * 256)


def matrices(layers: int, dimension: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Names of the weights, as a GGUF file has them, and rows and columns of each."""
    wide = hidden(dimension)
    yield "token_embd.weight", (VOCABULARY, dimension)
    for layer in range(layers):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"blk.{layer}.{name}.weight", (dimension, dimension)
        yield f"blk.{layer}.ffn_gate.weight", (wide, dimension)
        yield f"blk.{layer}.ffn_up.weight", (wide, dimension)
        yield f"blk.{layer}.ffn_down.weight", (dimension, wide)
    yield "output.weight", (VOCABULARY, dimension)


def norms(layers: int) -> Iterator[str]:
    """Names of the norms' factors: all are 1."""
    for layer in range(layers):
        yield f"blk.{layer}.attn_norm.weight"
        yield f"blk.{layer}.ffn_norm.weight"
    yield "output_norm.weight"


def log_probabilities(weights: Callable[[str], Array], layers: int, tokens: list[int]) -> Array:
    """Natural logarithms of the probabilities of each token behind these."""
    state = weights("token_embd.weight")[tokens]
    for layer in range(layers):

        def of(name: str, layer: int = layer) -> Array:
            return weights(f"blk.{layer}.{name}.weight").T

        x = _normalised(state)
        q, k, v = (_heads(x @ of(f"attn_{name}")) for name in "qkv")
        state = state + _attention(_rotated(q), _rotated(k), v) @ of("attn_output")
        x = _normalised(state)
        gate = x @ of("ffn_gate")
        state = state + (gate / (1 + np.exp(-gate)) * (x @ of("ffn_up"))) @ of("ffn_down")
    logits = weights("output.weight") @ _normalised(state[-1])
    most = logits.max()
    result: Array = logits - most - np.log(np.exp(logits - most).sum())
    return result


def _normalised(x: Array) -> Array:
    result: Array = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON)
    return result


def _heads(x: Array) -> Array:
    """[position, dimension] as [head, position, dimension of a head]."""
    return x.reshape(len(x), -1, HEAD).transpose(1, 0, 2)


def _rotated(x: Array) -> Array:
    """Each pair of neighbours is turned by an angle that its position and its place in the head give."""
    positions = np.arange(x.shape[1])[:, None]
    angles = positions * BASE ** (-np.arange(0, HEAD, 2) / HEAD)
    cos, sin = np.cos(angles), np.sin(angles)
    even, odd = x[..., 0::2], x[..., 1::2]
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape)


def _attention(q: Array, k: Array, v: Array) -> Array:
    """Each position looks at itself and at those before it."""
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(HEAD)
    scores = np.where(np.tril(np.ones(scores.shape[1:], dtype=bool)), scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = shares / shares.sum(axis=-1, keepdims=True) @ v
    return mixed.transpose(1, 0, 2).reshape(q.shape[1], -1)
