"""Memory of pre-training on much text: vocabulary, words and pieces in a cache, updates, the end.

    python benchmarks/text_memory.py RECIPE TEXT [--megabytes 1000] [--updates 50] [--json FILE]

The documents of TEXT (raw text) are written again and again, in another order each time, until they
have that many megabytes; then ``spanloom pretrain`` runs on them as a command. Memory is the sum
over all its processes, without what they share counted twice, and with the pages of the cache that
are mapped (PSS, Linux only).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from annotate_corpus import Watch

from spanloom.atomic_io import write_file
from spanloom.corpora import raw_text
from spanloom.glad.speed import processor

FILE_BYTES = 20_000_000


def enlarge(texts: Path, folder: Path, num_bytes: int) -> dict[str, int]:
    """Write copies of all documents, in random order; returns what was written."""
    texts_of_documents = [document.text.encode() for document in raw_text.stream([texts])]
    rng, written, words, files = Random(1), 0, 0, 0
    order: list[bytes] = []
    while written < num_bytes:
        with (folder / f"{files:04}.txt").open("wb") as file:
            size = 0
            while size < FILE_BYTES and written + size < num_bytes:
                order = order or rng.sample(texts_of_documents, len(texts_of_documents))
                text = order.pop()
                size += file.write(text + b"\n\n")
                words += len(text.split())
        written, files = written + size, files + 1
    return {"text_bytes": written, "text_words": words, "files": files}


def main() -> None:
    """Write the text, pre-train on it, and print what that took."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("recipe", type=Path)
    arguments.add_argument("text", type=Path)
    arguments.add_argument("--megabytes", type=int, default=1000)
    arguments.add_argument("--updates", type=int, default=50)
    arguments.add_argument("--vocab-size", type=int, default=8000)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts").mkdir()
        result: dict[str, int | str] = dict(
            enlarge(options.text, folder / "texts", options.megabytes * 10**6)
        )
        command = [sys.executable, "-m", "spanloom", "pretrain", options.recipe]
        command += ["-o", folder / "encoder", "--vocab-size", options.vocab_size]
        for setting in (
            "corpora={}",
            f"tasks.text.data={folder / 'texts'}",
            "tasks.text.exclude=[]",
            f"stages.0.updates_per_task={options.updates}",
            "stages.0.warmup_updates=10",
            "stages.0.eval_every_epochs=1",
        ):
            command += ["--set", setting]
        begin = time.monotonic()
        environment = os.environ | {"SPANLOOM_CACHE": str(folder / "cache")}
        process = subprocess.Popen([str(part) for part in command], text=True, env=environment)
        watch = Watch(process)
        watch.start()
        if process.wait():
            raise SystemExit("the run failed by itself")
        watch.join()
        cache = sum(path.stat().st_size for path in (folder / "cache").rglob("*"))
        result |= {
            "cache_bytes": cache,
            "peak_megabytes": round(watch.peak / 1e6),
            "seconds": round(time.monotonic() - begin),
            "cpu_seconds": round(sum(watch.cpu.values())),
        }
    result |= {"processor": processor(), "updates": options.updates}
    print(json.dumps(result, indent=1))
    if options.json:
        write_file(options.json, json.dumps(result, indent=1).encode() + b"\n")


if __name__ == "__main__":
    main()
