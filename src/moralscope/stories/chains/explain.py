"""A recipe in words and as a text diagram: what each step reads, does and writes."""

from collections.abc import Iterator

from moralscope.core.records import Decoding
from moralscope.stories.chains.flow import (
    STORY,
    Reads,
    Recipe,
    Step,
    by_target,
    story_fields,
    text_task,
    trace,
    wants_target,
)
from moralscope.stories.chains.steps import decoding_of
from moralscope.stories.tasks import classification_task


def explain(recipe: Recipe, decoding: Decoding | None = None) -> list[str]:
    """Return the lines of the diagram and, below them, a sentence about each step.

    Examples
    --------
    >>> from moralscope.stories.chains.recipes import load_recipe
    >>> for line in explain(load_recipe("action-sample"))[:7]:
    ...     print(line)
    action-sample: One action from the context, as the generator gives it.
    <BLANKLINE>
      story and target: norm, situation, intention
        │
        ├─ 1 propose    actions  (action|context, 1 candidate)
        │
        ▼
    """
    given = decoding or Decoding(count=10)
    title = f"{recipe.name}: {recipe.about}" if recipe.about else recipe.name
    once = "story and target" if by_target(recipe) else "story"
    lines = [title, "", f"  {once}: {', '.join(story_fields(recipe)) or 'nothing'}", "    │"]
    reads = list(trace(recipe))
    wide = max(len(step.name) for step in recipe.steps)
    previous: str | None = None
    for number, step in enumerate(recipe.steps, 1):
        body = f"    ├─ {number} {step.do:<10} {step.name:<{wide}}  ({_how(step, given)})"
        lines += [body + (f"  ◄─ {step.source}" if step.source not in (None, previous) else "")]
        lines += ["    │"]
        previous = step.name
    lines += ["    ▼", f"  choice: {text_task(recipe, recipe.steps[-1]).target}", ""]
    lines += [
        f"  {number}. {sentence}"
        for number, sentence in enumerate(_sentences(recipe, reads, given), 1)
    ]
    if recipe.paper:
        lines += ["", f"  Paper: {recipe.paper}"]
    return lines


def _how(step: Step, given: Decoding) -> str:
    if step.do == "condition":
        return f"{step.field} := {step.source}"
    if step.do == "rank":
        return f"{step.expert}, P({_class(step)})"
    count = decoding_of(step, given).count
    many = f"{count} candidate{'' if count == 1 else 's'}"
    return f"{step.task}, {many}" + (f", labelled by {step.expert}" if step.expert else "")


def _class(step: Step) -> str:
    if wants_target(step):
        bad, good = classification_task(str(step.expert)).labels[:2]
        return f"{good} or {bad}"
    return step.label or "plausible"


def _sentences(recipe: Recipe, reads: list[Reads], given: Decoding) -> Iterator[str]:
    for each in reads:
        step = each.step
        own = [name for name, source in each.fields if source == STORY]
        made = [f"{name} from '{source}'" for name, source in each.fields if source != STORY]
        parts = ([f"the story's {', '.join(own)}"] if own else []) + made
        told = " and ".join(parts) or "the text alone"
        kind = text_task(recipe, step).target
        if step.do == "propose":
            count = decoding_of(step, given).count
            many = f"one {kind}" if count == 1 else f"{count} {kind}s"
            yield f"'{step.name}' writes {many} ({step.task}); it reads {told}."
        elif step.do == "rank":
            wanted = "the target's class" if wants_target(step) else f"'{_class(step)}'"
            yield (
                f"'{step.name}' orders the texts of '{step.source}' by the probability of {wanted} "
                f"({step.expert}) and keeps the best; it reads {told}."
            )
        elif step.do == "condition":
            yield f"'{step.name}' puts the choice of '{step.source}' in the place of {step.field}."
        else:
            yield (
                f"'{step.name}' labels the choice of '{step.source}' ({step.expert}) and writes it "
                f"anew with draft and label ({step.task}); it reads {told}."
            )
