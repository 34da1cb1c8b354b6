"""Rows of runs, made up from scores."""

from pathlib import Path

from spanloom.metrics.bootstrap import scores_per_document
from spanloom.studies.designs import plan
from spanloom.studies.row import Row, SplitScore

RECIPES = Path(__file__).parents[2] / "recipes" / "studies"


def rows_reader(rows):
    """Return the function that reads these rows, as a folder of rows does."""
    return lambda keys: {key: rows[key] for key in keys if key in rows}


def make_row(job, scores, documents=(), metric="f1"):
    """Return a row; ``scores`` are by task, ``documents`` scores per document by task."""
    return Row(
        key=job.key,
        name=job.name,
        recipe=job.recipe,
        scores={
            task: {
                "dev": SplitScore(
                    {metric: score},
                    {metric: scores_per_document(documents[task]).dumps()}
                    if task in documents
                    else {},
                )
            }
            for task, score in scores.items()
        },
        before=job.before.key if job.before else None,
        updates=1,
        epoch=1.0,
        train_words_per_s=None,
        train_cpu_minutes=1.5,
        other_cpu_minutes=0.5,
        model_megabytes=10.0,
        compute="cpu, 1 thread, fp32",
        processor="made up",
        version="0",
        date="2026-01-01",
    )


def filled(study, score, num_documents=20):
    """Return plan and rows; ``score`` gives a task's score by the tasks learnt and the seed."""
    planned = plan(study, RECIPES, rows_reader({}))
    rows = {}
    for key, job in planned.jobs.items():
        scores = {task: score(task, job) for task in job.tasks}
        documents = {task: [value] * num_documents for task, value in scores.items()}
        rows[key] = make_row(job, scores, documents)
    return planned, rows


def helped(task, job):
    """Ner gains 10 points beside pos, dep loses 5 beside ner; the rest is as alone."""
    limited = 0.1 * any(spec["examples"] is not None for spec in job.recipe["tasks"].values())
    gain = 0.1 * (task == "ner" and "pos" in job.tasks)
    loss = 0.05 * (task == "dep" and "ner" in job.tasks)
    return 0.5 + gain - loss - limited + 0.001 * job.recipe["seed"]
