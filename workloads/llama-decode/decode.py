"""Have llama.cpp's server make tokens: `decode.py THREADS TOKENS`.

The first request reads the prompt, which fills the cache of keys and values. It makes two tokens, so that all
code is in memory. The first one's probabilities have to be those worked out in double precision. The second
request goes on behind the same prompt, in detail: each token reads all weights and the cache once.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

import xllamacpp

DATA = Path(os.environ["WORKLOAD_DATA"])
#: llama.cpp rounds states to 8 bits, too: ten draws differed by 0.012 to 0.033.
MOST_ERROR = 0.1
#: Tokens whose probabilities are compared.
COMPARED = 16


def server(threads: int, positions: int) -> xllamacpp.Server:
    """One process with so many threads; the weights are read into its memory, and lie where its pages do."""
    asked = xllamacpp.CommonParams()
    asked.model.path = str(DATA / "model.gguf")
    asked.n_ctx = positions
    asked.n_parallel = 1
    asked.n_threads_http = 1
    asked.cpuparams.n_threads = threads
    asked.cpuparams_batch.n_threads = threads
    asked.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
    asked.fit_params = False
    asked.warmup = False
    asked.verbosity = 0
    return xllamacpp.Server(asked)


def difference(answer: dict[str, Any], expected: list[float]) -> float:
    """The largest one of the likeliest tokens' probabilities, in natural logarithms."""
    first = answer["choices"][0]["logprobs"]["content"][0]
    return max(abs(one["logprob"] - expected[one["id"]]) for one in first["top_logprobs"])


def main() -> int:
    """Measure and check."""
    threads, tokens = map(int, sys.argv[1:])
    expected = json.loads((DATA / "expected.json").read_text())
    prompt = expected["prompt"]
    llama = server(threads, len(prompt) + tokens + 1)
    # Whatever is most likely comes next, and nothing ends the text.
    request = {"prompt": prompt, "temperature": 0.0, "ignore_eos": True, "cache_prompt": True}
    answer = llama.handle_completions({**request, "n_predict": 2, "n_probs": COMPARED})
    error = difference(answer, expected["log_probabilities"])
    if error > MOST_ERROR:
        print(f"probabilities of the next token are off by a factor of exp({error:.2f})", file=sys.stderr)
        return 1
    region = ctypes.CDLL(f"{os.environ['WORKLOAD_BUILD']}/program")
    region.begin()
    answer = llama.handle_completions({**request, "n_predict": tokens})
    region.end()
    made = answer["usage"]["completion_tokens"]
    if made != tokens:
        print(f"{made} tokens were made, not {tokens}", file=sys.stderr)
        return 1
    # llama.cpp times the tokens alone. To handle a request takes nearly as long as a small model's token.
    seconds = (answer["timings"]["prompt_ms"] + answer["timings"]["predicted_ms"]) / 1e3
    print("measure tokens_per_second", tokens / seconds)
    print("measure read", tokens * (DATA / "model.gguf").stat().st_size / seconds / 1e9)
    print("measure error", error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
