"""``squad-v1.1``: SQuAD's first official program (Rajpurkar et al. 2016, section 6.1).

A dataset in JSON, and an object of answers by the questions' ids. Of several gold answers the one
most like the prediction counts, for exact match and for F1 apart. Texts without a word have F1 0,
even with each other. A question without a prediction scores 0.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.metrics.answers import normalised, shared_words
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._squad import added, answer, by_question, lines_of, questions


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the means in percent; the program has no options."""
    judged = list(_judged(gold, predicted))
    return {
        "exact_match": 100 * added(exact for exact, _ in judged) / len(judged),
        "f1": 100 * added(f1 for _, f1 in judged) / len(judged),
    }


def _judged(gold: Path, predicted: Path) -> Iterator[tuple[float, float]]:
    """Yield exact match and F1 of each question."""
    asked, predictions = questions(gold, "version"), by_question(predicted)
    for question in asked:
        if question.name not in predictions:
            yield 0, 0
            continue
        if not question.answers:
            problem = f"expected a gold answer to the question {question.name!r:.60}, got none"
            raise FormatError(str(gold), None, problem)
        said = normalised(answer(predictions, question.name, predicted))
        wanted = list(map(normalised, question.answers))
        yield said in wanted, max(shared_words(text, said) for text in wanted)


KIND = Scorer("squad-v1.1", score, lines_of)
