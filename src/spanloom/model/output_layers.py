"""What the layers are called that a model's tasks write."""

from collections import Counter
from collections.abc import Mapping


def output_layers(learnt: Mapping[str, str]) -> dict[str, str]:
    """Return the output layer of each task; ``learnt`` names the layer that each learns.

    A task writes the layer that it learns. Where several tasks learn layers of one name, each
    writes to a layer that is called as the task is. So a name follows from the model alone, never
    from which of its tasks are asked for.
    """
    names = dict(learnt)
    while True:
        writers = Counter(names.values())
        clashing = [task for task, layer in names.items() if writers[layer] > 1 and layer != task]
        if not clashing:
            return names
        names |= {task: task for task in clashing}
