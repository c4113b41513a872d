"""A dilemma as one document of lm-eval, asked many times; imports lm-eval.

lm-eval asks one question a document, or one answer in several contexts. A dilemma is asked with
its actions in every order under every label, and each question for every letter: only so is the
dilemma the unit of the standard error, and what comes first apart from what is called A.
"""

from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask

from moralscope.interop.choices import LETTERS


class DilemmaTask(ConfigurableTask):
    """Asks every letter in every context; `data.dilemma_figures` reads them letter by letter."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config={name: config[name] for name in config if name != "class"})

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **keywords: Any) -> list[Instance]:
        """Return a request for each letter and context."""
        requests = [
            request
            for letter in LETTERS[: len(doc["actions"])]
            for request in super(DilemmaTask, self).construct_requests(
                {**doc, "answer": letter}, ctx, **keywords
            )
        ]
        for index, request in enumerate(requests):
            request.doc, request.idx = doc, index  # lm-eval sorts the answers by it
        return requests
