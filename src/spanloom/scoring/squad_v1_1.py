"""``squad-v1.1``: SQuAD's first official program (Rajpurkar et al. 2016, section 6.1).

It reads a dataset in JSON, and an object of answers by question id. The best of several gold
answers counts, separately for exact match and F1. Texts without a word have F1 0, even compared
with each other. A question without a prediction scores 0.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.metrics.qa import normalize_answer, shared_words
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring.squad_v2_0 import (
    format_scores,
    predicted_answer,
    questions,
    read_predictions,
    sum_in_order,
)


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the means in percent; the program has no options."""
    question_scores = list(_score_questions(gold, predicted))
    return {
        "exact_match": 100
        * sum_in_order(exact for exact, _ in question_scores)
        / len(question_scores),
        "f1": 100 * sum_in_order(f1 for _, f1 in question_scores) / len(question_scores),
    }


def _score_questions(gold: Path, predicted: Path) -> Iterator[tuple[float, float]]:
    """Yield exact match and F1 of each question."""
    gold_questions, predictions = questions(gold, "version"), read_predictions(predicted)
    for question in gold_questions:
        if question.name not in predictions:
            yield 0, 0
            continue
        if not question.answers:
            problem = f"expected a gold answer to the question {question.name!r:.60}, got none"
            raise FormatError(str(gold), None, problem)
        prediction = normalize_answer(predicted_answer(predictions, question.name, predicted))
        gold_answers = list(map(normalize_answer, question.answers))
        yield (
            prediction in gold_answers,
            max(shared_words(text, prediction) for text in gold_answers),
        )


KIND = Scorer("squad-v1.1", score, format_scores)
