"""Damaged texts of any format: it reads them or says what is wrong and where, and nothing else."""

import random
import time

from door_checks import damaged

from spanloom.errors import FormatError


def reads_or_tells(form, cases, seed=1, options=None, **beside):
    """Read damaged samples of a format, and write and read again what could be read."""
    rng = random.Random(seed)
    options = options or form.options()
    sample = form.example if isinstance(form.example, str) else form.example[""]
    for number in range(cases):
        text = sample
        for _ in range(rng.randrange(1, 5)):
            text = damaged(rng, text or "\n")
        began = time.process_time()
        try:
            _check(form, text, options, beside)
        except Exception as error:
            error.add_note(f"case {number}: {text[:3000]!r}")
            raise
        assert time.process_time() - began < 1


def _check(form, text, options, beside):
    found = _read(form, text, options, beside)
    if isinstance(found, FormatError):
        assert found.path == "in"
        assert 1 <= found.line <= 1 + text.count("\n")
        assert 5 < len(found.problem) < 500
        return
    assert len({each.name for each in found}) == len(found)
    assert found == written_and_read(form, found, options)


def written_and_read(form, documents, options):
    """Return what is read of documents that were written."""
    made = form.dumps(documents, options=options)
    texts = made if isinstance(made, dict) else {"": made}
    beside = {key: text for key, text in texts.items() if key}
    return list(form.loads(texts[""], path="in", options=options, **beside))


def _read(form, text, options, beside):
    """Return the documents, or what is wrong."""
    try:
        return list(form.loads(text, path="in", options=options, **beside))
    except FormatError as error:
        return error
