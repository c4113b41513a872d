"""Train the two filters of `collect` on labelled replies, as in appendix B of Ziems et al. 2022.

Labelled CSV → 60-20-20 by prompt → the one loop → a folder that `collect --filters` takes. Dev
chooses the epoch and the learning rate; the figures are those of the test part.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from moralscope.core.records import ModelRef, RunRecord
from moralscope.models.adapters import AdapterShape
from moralscope.models.classifiers.learning import PairLearner
from moralscope.models.classifiers.making import Making
from moralscope.models.classifiers.module import resolve_base
from moralscope.models.classifiers.saved import ExpertSettings, folder_sha256, save_experts
from moralscope.models.store import Progress, Store
from moralscope.models.training import Moment, Schedule
from moralscope.models.training.folders import named_base, training_folder
from moralscope.models.training.loop import Report
from moralscope.models.training.runs import best_run, check_rate, dev_temperatures
from moralscope.rules.collect.filter_training import (
    LabelledExchange,
    filter_lessons,
    measure_filter,
    read_labelled,
    share_out,
)
from moralscope.rules.collect.filters import TASKS

__all__ = ["FilterOptions", "Moment", "train_filters"]

DEFAULT = Schedule(epochs=4, learning_rate=4e-4, batch_size=32)
# Appendix B: the sweep of section 5.2, one to eight epochs, the rate one of GRID.
PAPER = Schedule(
    epochs=8, learning_rate=3e-5, batch_size=16, warmup=0.0, weight_decay=0.0, patience=8
)
GRID = (2e-5, 3e-5, 5e-5)
PAPER_BASE = "albert-base-v2"
_LENGTH = 128
_CARD = """# Filters of chatbot replies on {base}

Trained by moralscope on `{base}`: is a reply sufficient for its prompt, has it moral content.

- **Base:** {base}. An adapter works on these weights only (`expert.json` has their sha256).
- **Data:** {rows} labelled replies of {source}, shared out 60-20-20 by prompt.
- **Made by:** `{command}`
- **Figures** (test part; macro precision, recall and F1 in percent, F1 with its 95 % interval):

{table}

They filter what is worth annotating; they judge nobody.
"""


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """How the filters are trained.

    `paper` takes the paper's base and settings: every weight, three learning rates, up to eight
    epochs. Else an adapter on `base`. `schedule` holds what differs.

    Examples
    --------
    >>> FilterOptions().base_name, len(FilterOptions(paper=True).schedules)
    ('minilm', 3)
    """

    base: str | None = None
    paper: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    schedule: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def base_name(self) -> str:
        """The base that is trained."""
        return self.base or (PAPER_BASE if self.paper else "minilm")

    @property
    def schedules(self) -> list[Schedule]:
        """One schedule, or the paper's three; a rate that was given is not searched."""
        one = replace(PAPER if self.paper else DEFAULT, seed=self.seed, **self.schedule)
        if not self.paper or "learning_rate" in self.schedule:
            return [one]
        return [replace(one, learning_rate=rate) for rate in GRID]


def train_filters(
    labelled: Path,
    out: Path,
    options: FilterOptions | None = None,
    *,
    report: Report | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Train both filters in one network, write them to `out`, and say how well they do on test.

    Raises
    ------
    InputError
        Broken lines (by number), too few labels, or a folder of other things.
    """
    chosen = options or FilterOptions()
    check_rate(chosen.schedule)
    rows = read_labelled(labelled, chosen.columns)
    parts = share_out(rows, chosen.seed)
    base, base_sha256 = resolve_base(chosen.base_name, Store(), progress)
    name, base_sha256 = named_base(chosen.base_name, base, base_sha256, None)
    making = Making(
        base, TASKS, adapter=None if chosen.paper else AdapterShape(), max_length=_LENGTH
    )
    with training_folder(out):
        pairs = (filter_lessons(parts["train"]), filter_lessons(parts["dev"]))
        searched = ["learning_rate"] if len(chosen.schedules) > 1 else []
        best = best_run(making, chosen.schedules, searched, pairs, out, report)
        temperatures = dev_temperatures(best.learner, list(TASKS))
        figures = _figures(best.learner, parts["test"], chosen.seed)
        facts, text = _card(chosen, name, best.schedule, figures, (labelled, len(rows)))
        settings = ExpertSettings(name, base_sha256, TASKS, _LENGTH, temperatures, facts)
        save_experts(out, best.learner.module, settings, best.learner.tokenizer, text)
    return RunRecord(
        "collect-train",
        seed=chosen.seed,
        config={
            **asdict(chosen),
            "base": name,
            "source": str(labelled),
            "schedule": asdict(best.schedule),
            "out": str(out),
        },
        models=[ModelRef(name, base_sha256), ModelRef(out.name, folder_sha256(out))],
        results=figures,
        statistics={
            "parts": {part: len(own) for part, own in parts.items()},
            "labels": _label_counts(rows),
            "dev": best.look,
            "temperatures": temperatures,
            "history": asdict(best.history),
            **({"grid": list(best.grid)} if searched else {}),
        },
    )


def _figures(
    learner: PairLearner, rows: Sequence[LabelledExchange], seed: int
) -> list[Mapping[str, Any]]:
    """Return the figures of every task, over all replies and of each chatbot (Table 4)."""
    test = replace(learner, lessons=[], dev_lessons=filter_lessons(rows))
    told = [bool(logits.argmax()) for logits in test.dev_logits()]
    chatbots = sorted({row.chatbot for row in rows if row.chatbot})
    found: list[Mapping[str, Any]] = []
    for place, task in enumerate(TASKS):
        answers = told[place :: len(TASKS)]
        for chatbot in ("", *(chatbots if len(chatbots) > 1 else ())):
            own = [at for at, row in enumerate(rows) if chatbot in ("", row.chatbot)]
            gold = [rows[at].labels[task] for at in own]
            measured = measure_filter(gold, [answers[at] for at in own], seed)
            found.append({"task": task, "chatbot": chatbot or "all", **asdict(measured)})
    return found


def _label_counts(rows: Sequence[LabelledExchange]) -> dict[str, dict[str, int]]:
    return {
        task: dict(Counter(labels[row.labels[task]] for row in rows))
        for task, labels in TASKS.items()
    }


def _card(
    options: FilterOptions,
    base: str,
    schedule: Schedule,
    figures: Sequence[Mapping[str, Any]],
    data: tuple[Path, int],
) -> tuple[dict[str, Any], str]:
    """Return the card's facts and its text; files of this machine come without their place."""
    short = Path(base).name if Path(base).is_dir() else base
    words = [f"moralscope collect-train {data[0].name} --base {short}"]
    words += ["--paper"] if options.paper else []
    words.append(f"--epochs {schedule.epochs} --learning-rate {schedule.learning_rate}")
    words.append(f"--batch {schedule.batch_size} --seed {schedule.seed}")
    lines = ["| task | chatbot | precision | recall | F1 | replies |", "|---" * 6 + "|"]
    lines += [
        f"| {row['task']} | {row['chatbot']} | {row['precision']:.1f} | {row['recall']:.1f} "
        f"| {row['f1']:.1f} ({row['low']:.1f} … {row['high']:.1f}) | {row['n']} |"
        for row in figures
    ]
    text = _CARD.format(
        base=short,
        rows=data[1],
        source=data[0].name,
        command=" ".join(words),
        table="\n".join(lines),
    )
    return {"base": short, "metrics": list(figures), "command": " ".join(words)}, text
