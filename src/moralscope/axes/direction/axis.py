"""The moral direction as an `Axis`: actions in, scores with intervals and map places out.

    score(a) = (mean over prompts of q_p(a) . m - centre) / scale

with q_p(a) the embedding of prompt p's question about action a. Intervals are bootstraps over
the prompts: they say how much a score hangs on the wording, not on the actions fitted on.
"""

from collections.abc import Sequence

from moralscope.axes.build import AxisModels, question_encoder
from moralscope.axes.direction.fitting import LABELLED, Direction, fit_labelled, fit_pca
from moralscope.axes.direction.labelled import read_labelled
from moralscope.axes.direction.paper import load_paper
from moralscope.axes.direction.saved import load_direction, save_direction
from moralscope.axes.options import ENGLISH, AxisOptions
from moralscope.axes.parallel import load_parallel
from moralscope.axes.prompts import (
    Forms,
    PromptAxis,
    forms_of,
    in_blocks,
    question_config,
    question_rows,
    questions_unread,
    spans_of,
)
from moralscope.axes.records import ActionMap, Anchors, DirectionFigures, MapPoint
from moralscope.axes.templates import GENDER, Template, load_template
from moralscope.core.errors import InputError
from moralscope.core.protocols import AxisCard, AxisRun, Encoder, Paraphrases, Report, Row
from moralscope.core.records import ActionScore
from moralscope.io.files import check_writable, model_refs
from moralscope.words.paper import load_paper as load_choice_paper

_NOT_MORAL = (
    "the gender template asks who somebody is, not what is right: a direction through its "
    "questions tells neither good from bad nor female from male; use --axis choice with it"
)
State = tuple[Template, Direction]
_MIDDLE = (
    "zero is the middle of the actions the direction was fitted on, not a border between right "
    "and wrong; one is their standard deviation"
)


def build_direction(
    options: AxisOptions, models: AxisModels, *, state: State | None = None, many: bool = False
) -> "DirectionAxis":
    """Return a direction fitted or loaded; what was fitted is its `direction`."""
    if state is not None:
        template, direction = state
        encoder = question_encoder(options, models)
        return DirectionAxis(direction, encoder, template, seed=options.seed)
    if options.save_axis is not None:
        check_writable(options.save_axis)
    template = load_template(options.template, options.language)
    encoder = question_encoder(options, models)
    if options.axis_file is not None:
        direction = load_direction(options.axis_file, encoder, template)
    else:
        direction = fit_direction(options, encoder, template)
    if options.save_axis is not None:
        save_direction(direction, options.save_axis)
    return DirectionAxis(direction, encoder, template, seed=options.seed)


def fit_direction(options: AxisOptions, encoder: Encoder, template: Template) -> Direction:
    """Fit a direction as the options say: on the user's actions, else on the papers' or ours."""
    is_labelled = options.fit == LABELLED
    labels: Anchors | None = None
    if options.fit_actions is not None:
        listed = read_labelled(options.fit_actions, all_labelled=is_labelled)
        if not is_labelled and bool(listed.good) != bool(listed.bad):
            raise InputError(
                f"{options.fit_actions} labels no action {'bad' if listed.good else 'good'}",
                "label some actions good and some bad to fix the sign, or none",
            )
        actions = listed.actions
        if is_labelled or listed.good:
            labels = Anchors(listed.good, listed.bad)
    elif template.language != ENGLISH:
        ours = load_parallel()
        actions = ours.texts[template.language]
        labels = Anchors(*(ours.labelled(template.language, side) for side in ("good", "bad")))
    else:
        actions, choice_paper = load_paper().atomic, load_choice_paper()
        labels = Anchors(choice_paper.dos, choice_paper.donts) if is_labelled else None
    if is_labelled and labels is not None:
        return fit_labelled(encoder, template, labels, seed=options.seed)
    return fit_pca(encoder, template, actions, labels, seed=options.seed)


class DirectionAxis(PromptAxis):
    """An `Axis`: scores actions by their projection on a fitted direction.

    Parameters
    ----------
    direction
        What `fit_pca`, `fit_labelled` or `load_direction` return.
    encoder, template
        Those that the direction was fitted with.
    seed
        Seeds the bootstrap over prompts.
    """

    name = "direction"

    def __init__(
        self, direction: Direction, encoder: Encoder, template: Template, *, seed: int = 0
    ) -> None:
        super().__init__(template, seed=seed)
        self.direction, self._encoder = direction, encoder

    @property
    def card(self) -> AxisCard:
        """What a record says of the axis."""
        return AxisCard(
            config={
                **question_config(self.name, self._encoder, self._template),
                "fit": self.direction.fit,
            },
            models=model_refs([self._encoder]),
            statistics={"direction": describe_direction(self.direction)},
            warnings=[_MIDDLE, *self._template.warnings],
            doubts=[
                *direction_warnings(self.direction),
                *([_NOT_MORAL] if self._template.name == GENDER else []),
            ],
            own_unit=True,
            arithmetic=self._encoder.arithmetic,
            fingerprint=self._template.fingerprint,
        )

    @property
    def state(self) -> State:
        """The template that was read and the direction that was fitted."""
        return self._template, self.direction

    def score_rows(
        self, rows: Sequence[Row], paraphrases: Paraphrases = None, report: Report | None = None
    ) -> AxisRun:
        """Score the actions of rows and say where they lie on the map of the two components."""
        forms = forms_of([row["action"] for row in rows], paraphrases)
        placed = in_blocks(forms, self._block, report)
        positions = zip(self.direction.actions, self.direction.positions.tolist(), strict=True)
        figures = ActionMap(
            points=[(score.score, height) for score, height in placed],
            fitting=[MapPoint(action, x, y) for action, (x, y) in positions],
            x_label=f"moral direction ({self.direction.method})",
            y_label="strongest component at right angles to it",
        )
        return AxisRun(results=[score for score, _ in placed], statistics={"map": figures})

    def _score_block(self, block: Sequence[Forms]) -> list[ActionScore]:
        return [score for score, _ in self._block(block)]

    def _block(self, block: Sequence[Forms]) -> list[tuple[ActionScore, float]]:
        """Return scores, each with its height on the map."""
        texts = [form for group in block for form in group]
        placed = self.direction.project(question_rows(self._encoder, self._template, texts))
        groups = [placed[span] for span in spans_of(block)]
        means = self._bootstrap.means([group[:, :, 0] for group in groups])
        unread = questions_unread(self._encoder, self._template, block)
        return [
            (
                ActionScore(forms[0], mean.mean, mean.low, mean.high, mean.prompts, unread=more),
                float(group[:, :, 1].mean()),
            )
            for forms, mean, group, more in zip(block, means, groups, unread, strict=True)
        ]


def describe_direction(direction: Direction) -> DirectionFigures:
    """Return what a record says about a direction."""
    return DirectionFigures(
        fit=direction.fit,
        method=direction.method,
        fitted_on=len(direction.actions),
        raw_scale=direction.scales[0],
        anchors=direction.anchors,
        separation=direction.separation,
        validation=direction.validation,
        explained_variance=direction.explained,
        explained_variance_differences=direction.explained_differences,
        stands_out=direction.prominence.stands_out,
        prominence=direction.prominence,
        stability=direction.stability,
    )


def direction_warnings(direction: Direction) -> list[str]:
    """Say why a direction should not be trusted, a line each."""
    lines = []
    first, angle = direction.prominence, direction.stability.bootstrap_degrees_median
    if direction.fit == "pca" and not first.stands_out:
        lines.append(
            f"the first component does not stand out: it explains {first.share:.1%} of the "
            f"variance, {first.ratio:.2f} times the second (wanted: 1.5 times, and more than "
            f"{first.broken_stick:.1%}); look at the anchors, or use --fit labelled"
        )
    held_out = direction.validation.get(direction.method, direction.separation)
    if held_out < 0.75:
        lines.append(
            f"the direction puts only {held_out:.0%} of good and bad anchor pairs in the right "
            "order: it may not be moral"
        )
    if angle > 45:
        lines.append(
            f"the direction is unstable: fitted on redrawn actions it turns by {angle:.0f} "
            "degrees (median)"
        )
    return lines
