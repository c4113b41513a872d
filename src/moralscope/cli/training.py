"""`stories train`, `rules train` and `collect-train`: recipes of the one trainer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput
from moralscope.cli.output import emit_to, fetching, note, starting, training_bar
from moralscope.rules.collect.options import FilterTrainOptions
from moralscope.rules.options import RulesTrainOptions
from moralscope.stories.options import StoriesTrainOptions

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord
    from moralscope.models.training.records import TrainingProgress


@takes
def stories_train(options: StoriesTrainOptions, output: RecordOutput) -> None:
    """Train experts on Moral Stories and write them, with their card, to a folder.

    An adapter (LoRA) and a small head on a base of the store, or every weight of any model. The
    epoch is chosen on dev. The same command resumes a run that was stopped. Use the folder with
    --experts DIR, or --generator DIR.

    Recipes: experts, texts, paper, paper-grid, paper-texts, and those of the shipped models.

    Example: moralscope stories train action+norm --to my-expert --base minilm --set epochs=2
    """
    from moralscope.stories.train import train_task

    _train(train_task, options, output)


@takes
def rules_train(options: RulesTrainOptions, output: RecordOutput) -> None:
    """Train the experts that audits use, and write them, with their card, to a folder.

    The epoch is chosen on dev. The same command resumes a run that was stopped. Use the folder with
    --experts DIR, or --generator DIR.

    Recipes: attributes, mic, mic-grid, generator, paper-generator, and those of the shipped models.

    Example: moralscope rules train attributes --to my-experts --base minilm --set epochs=2
    """
    from moralscope.rules.training.train import train_rules

    _train(train_rules, options, output)


@takes
def collect_train(options: FilterTrainOptions, output: RecordOutput) -> None:
    """Train the filters of 'collect' on replies that people labelled.

    Three fifths train, one fifth chooses the epoch, one fifth tests. The same command resumes a run
    that was stopped. Use the folder with 'collect --filters DIR'.

    Recipes: filters, paper-filters.

    Example: moralscope collect-train labelled.csv --to my-filters
    """
    from moralscope.rules.collect.train import train_filters

    _train(train_filters, options, output)


def _train(train: Callable[..., "RunRecord"], options: Any, output: RecordOutput) -> None:
    starting(options.base or "the recipe's base", reading="what it learns from", quiet=output.json)
    with fetching() as progress, _watching(quiet=output.json) as report:
        record = train(options, report=report, progress=progress)
    emit_to(output, record)


@contextmanager
def _watching(*, quiet: bool) -> "Iterator[Callable[[TrainingProgress], None]]":
    """Show loss, dev and time left: a bar in a terminal, and a line for every evaluation."""
    with training_bar() as bar:

        def report(now: "TrainingProgress") -> None:
            bar(now)
            if now.evaluated and not quiet:
                dev = ", ".join(f"{name} {value:.3f}" for name, value in now.dev.items())
                note(f"epoch {now.epoch}: loss {now.loss:.3f}; dev {dev}")

        yield report
