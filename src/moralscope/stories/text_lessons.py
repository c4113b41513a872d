"""What generators are taught: the rows of Table 18, and drafts to refine."""

from collections.abc import Iterable, Mapping, Sequence

from moralscope.models.training.texts import TextLesson
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import (
    GenerationTask,
    generation_samples,
    generation_task,
    path_row,
)

REFINEMENT = "consequence|context+action+draft+label"
Drafts = Mapping[tuple[str, str], Sequence[tuple[str, str]]]  # (id, target) → (text, label)


def text_lessons(task: GenerationTask, stories: Iterable[MoralStory]) -> list[TextLesson]:
    """Return the prompts of one task with the sentences people wrote.

    Examples
    --------
    >>> story = MoralStory("1", moral_action="Jo smiles.", moral_consequence="Al is glad.")
    >>> text_lessons(generation_task("consequence|action"), [story])[0].prompt
    '<|ACT|> Jo smiles. <|CSQ|>'
    """
    return [
        TextLesson(row.prompt, row.reference, task.name)
        for row in generation_samples(task, stories)
    ]


def refinement_lessons(stories: Iterable[MoralStory], drafts: Drafts) -> list[TextLesson]:
    """Return drafts with their labels, to be rewritten into what people wrote (section 4.4)."""
    task = generation_task(REFINEMENT)
    lessons = []
    for story in stories:
        for orientation in ORIENTATIONS:
            row = path_row(story, orientation)
            for draft, label in drafts.get((story.id, orientation), ()):
                prompt = task.prompt({**row, "draft": draft, "label": label})
                if prompt and row["consequence"]:
                    lessons.append(TextLesson(prompt, row["consequence"].strip(), task.name))
    return lessons
