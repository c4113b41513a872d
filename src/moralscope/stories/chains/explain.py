"""A recipe in words and as a text diagram: what each step reads, does and writes."""

from collections.abc import Iterator

from moralscope.core.records import Decoding
from moralscope.stories.chains.flow import (
    STORY,
    ChainRecipe,
    Step,
    by_target,
    story_fields,
    text_task,
    trace,
    wants_target,
)
from moralscope.stories.chains.steps import decoding_of
from moralscope.stories.tasks import classification_task


def explain(recipe: ChainRecipe, decoding: Decoding | None = None) -> list[str]:
    """Return the lines of the diagram and, below them, a sentence about each step."""
    decoding = decoding or Decoding(count=10)
    title = f"{recipe.name}: {recipe.about}" if recipe.about else recipe.name
    once = "story and target" if by_target(recipe) else "story"
    lines = [title, "", f"  {once}: {', '.join(story_fields(recipe)) or 'nothing'}", "    │"]
    wide = max(len(step.name) for step in recipe.steps)
    previous: str | None = None
    for number, step in enumerate(recipe.steps, 1):
        if step.do == "condition":
            how = f"{step.field} := {step.source}"
        elif step.do == "rank":
            how = f"{step.expert}, P({_class(step)})"
        else:
            count = decoding_of(step, decoding).count
            how = f"{step.task}, {count} candidate{'' if count == 1 else 's'}"
            how += f", labelled by {step.expert}" if step.expert else ""
        source = f"  ◄─ {step.source}" if step.source not in (None, previous) else ""
        lines += [f"    ├─ {number} {step.do:<10} {step.name:<{wide}}  ({how}){source}", "    │"]
        previous = step.name
    lines += ["    ▼", f"  choice: {text_task(recipe, recipe.steps[-1]).target}", ""]
    lines += [f"  {n}. {text}" for n, text in enumerate(_sentences(recipe, decoding), 1)]
    if recipe.paper:
        lines += ["", f"  Paper: {recipe.paper}"]
    return lines


def _class(step: Step) -> str:
    if wants_target(step):
        bad, good = classification_task(str(step.expert)).labels[:2]
        return f"{good} or {bad}"
    return step.label or "plausible"


def _sentences(recipe: ChainRecipe, decoding: Decoding) -> Iterator[str]:
    for inputs in trace(recipe):
        step = inputs.step
        of_story = [name for name, source in inputs.fields if source == STORY]
        parts = [f"the story's {', '.join(of_story)}"] if of_story else []
        parts += [f"{name} from '{source}'" for name, source in inputs.fields if source != STORY]
        read = " and ".join(parts) or "the text alone"
        if step.do == "propose":
            kind, count = text_task(recipe, step).target, decoding_of(step, decoding).count
            many = f"one {kind}" if count == 1 else f"{count} {kind}s"
            yield f"'{step.name}' writes {many} ({step.task}); it reads {read}."
        elif step.do == "rank":
            wanted = "the target's class" if wants_target(step) else f"'{_class(step)}'"
            yield (
                f"'{step.name}' orders the texts of '{step.source}' by the probability of {wanted} "
                f"({step.expert}) and keeps the best; it reads {read}."
            )
        elif step.do == "condition":
            yield f"'{step.name}' puts the choice of '{step.source}' in the place of {step.field}."
        else:
            yield (
                f"'{step.name}' labels the choice of '{step.source}' ({step.expert}) and rewrites "
                f"it, given draft and label ({step.task}); it reads {read}."
            )
