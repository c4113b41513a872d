"""What type checkers see of the names that are loaded lazily, with options as keywords.

Made from signatures and options classes by tests/unit/test_user_types.py (MORALSCOPE_STUB=1).
"""

import collections.abc
import moralscope.annotation.options
import moralscope.axes.compare_options
import moralscope.axes.options
import moralscope.axes.parallel
import moralscope.axes.ratings
import moralscope.axes.score
import moralscope.benchmarks.bench
import moralscope.benchmarks.options
import moralscope.core.protocols
import moralscope.core.records
import moralscope.io.actions
import moralscope.models.encoders.edited
import moralscope.models.store._entries
import moralscope.models.training.records
import moralscope.papers
import moralscope.papers.options
import moralscope.rules.audit_options
import moralscope.rules.collect.chatbots
import moralscope.rules.collect.files
import moralscope.rules.collect.filters
import moralscope.rules.collect.options
import moralscope.rules.conversations.conversation
import moralscope.rules.load_auditor
import moralscope.rules.options
import moralscope.rules.records
import moralscope.rules.texts.exchanges
import moralscope.runs.options
import moralscope.steer.options
import moralscope.steer.teach
import moralscope.stories.options
import moralscope.surveys.items
import moralscope.surveys.options
import moralscope.words.options
import moralscope.words.verbs
import pathlib
from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload

from moralscope.version import __version__ as __version__
from moralscope.models.store import Store as Store
from moralscope.stories.chains.run import chain as chain
from moralscope.stories.evaluate import evaluate as evaluate
from moralscope.stories.generate import generate as generate
from moralscope.models.encoders.loading import load_edited as load_edited
from moralscope.models.encoders import load_encoder as load_encoder
from moralscope.models.language.loading import load_generator as load_generator
from moralscope.models.language.loading import load_language_model as load_language_model
from moralscope.stories.reading import load_stories as load_stories
from moralscope.models.language.steering import load_vector as load_vector
from moralscope.stories.experts import prepare_experts as prepare_experts
from moralscope.papers.integrity import reproduce_integrity as reproduce_integrity
from moralscope.papers.stories import reproduce_stories as reproduce_stories
from moralscope.interop.reward import reward as reward
from moralscope.io.files import write_record as write_record
from moralscope.pages import write_report as write_report

_Result = TypeVar("_Result")

class _Record(moralscope.core.records.RunRecord, Generic[_Result]):
    results: collections.abc.Sequence[_Result]

class _AgreementKeywords(TypedDict, total=False):
    levels: str | None
    columns: str | None
    people: pathlib.Path | None
    smallest_group: int | None
    seed: int

def agreement(
    path: str | pathlib.Path,
    options: moralscope.annotation.options.AgreementOptions | None = ...,
    **keywords: Unpack[_AgreementKeywords],
) -> moralscope.core.records.RunRecord:
    """Measure agreement and disagreement of the judgments in a table or a project's folder."""

class _AssociateKeywords(TypedDict, total=False):
    sets: str
    tests: str | None
    case: str
    missing: str
    permutations: int
    seed: int

def associate(
    words: collections.abc.Sequence[str] | moralscope.io.actions.ActionList,
    options: moralscope.words.options.AssociateOptions | None = ...,
    *,
    vectors: str | moralscope.core.protocols.WordVectors | None = ...,
    **fields: Unpack[_AssociateKeywords],
) -> moralscope.core.records.RunRecord:
    """Score words by Eq. 1 of Jentzsch et al. 2019; positive leans to A, negative to B."""

class _AssociateTestsKeywords(TypedDict, total=False):
    sets: str
    case: str
    missing: str
    permutations: int
    seed: int

def associate_tests(
    tests: str | collections.abc.Sequence[str] = ...,
    options: moralscope.words.options.AssociateOptions | None = ...,
    *,
    vectors: str | moralscope.core.protocols.WordVectors | None = ...,
    **fields: Unpack[_AssociateTestsKeywords],
) -> moralscope.core.records.RunRecord:
    """Run association tests (WEAT) beside the published effect sizes."""

class _AuditKeywords(TypedDict, total=False):
    texts: bool
    rulebooks: tuple[str | pathlib.Path, ...]
    experts: str
    encoder: str | None
    top: int
    general: bool
    severity: float | None
    expertise: bool
    explain: str
    on_unread: str
    evidence: str
    false_alarms: str | None
    require_warrant: bool
    revise: bool
    generator: str
    steer: pathlib.Path | None
    generate: bool
    writer: str
    exact: bool
    config: pathlib.Path | None
    gate: str | None
    seed: int
    file: str | pathlib.Path
    prompt: str | None
    reply: str | None
    text: str | None
    columns: str | None

@overload
def audit(
    exchanges: collections.abc.Sequence[moralscope.rules.records.Exchange] | moralscope.rules.texts.exchanges.ExchangeFile | None = ...,
    options: moralscope.rules.audit_options.AuditOptions | None = ...,
    *,
    models: moralscope.rules.load_auditor.AuditModels | None = ...,
    against: collections.abc.Sequence[moralscope.rules.records.Exchange] | moralscope.rules.texts.exchanges.ExchangeFile | None = ...,
    report: collections.abc.Callable[[int, int], None] | None = ...,
    tell: collections.abc.Callable[[moralscope.rules.records.AuditedReply], None] | None = ...,
    **keywords: Unpack[_AuditKeywords],
) -> _Record[moralscope.rules.records.AuditedReply]:
    """Audit replies and return a run record with one result a reply, in order."""
@overload
def audit(
    exchanges: collections.abc.Sequence[moralscope.rules.records.Exchange] | moralscope.rules.texts.exchanges.ExchangeFile | None = ...,
    options: moralscope.rules.audit_options.AuditOptions | None = ...,
    *,
    models: moralscope.rules.load_auditor.AuditModels | None = ...,
    against: collections.abc.Sequence[moralscope.rules.records.Exchange] | moralscope.rules.texts.exchanges.ExchangeFile | None = ...,
    report: collections.abc.Callable[[int, int], None] | None = ...,
    tell: collections.abc.Callable[[moralscope.rules.records.AuditedReply], None] | None = ...,
    conversation: Any,
    **keywords: Unpack[_AuditKeywords],
) -> _Record[moralscope.rules.conversations.conversation.AuditedConversation]:
    """Audit replies and return a run record with one result a reply, in order."""

class _BenchKeywords(TypedDict, total=False):
    sets: tuple[str, ...]
    models: tuple[str, ...]
    limit: int | None
    exact: bool
    format: str
    endpoint: str | None
    policy: pathlib.Path | None
    input_price: float | None
    output_price: float | None
    seed: int

def bench(
    options: moralscope.benchmarks.options.BenchOptions | None = ...,
    *,
    report: collections.abc.Callable[[int, int], None] | None = ...,
    progress: moralscope.models.store._entries.Progress | None = ...,
    **keywords: Unpack[_BenchKeywords],
) -> _Record[moralscope.benchmarks.bench.BenchResult]:
    """Run test sets over judges and return one result for each pair."""

class _CheckVectorKeywords(TypedDict, total=False):
    vector: pathlib.Path
    form: str
    pairs: str | pathlib.Path | None
    survey: str | pathlib.Path | None
    target: str
    replies: int
    experts: str
    gate: str | None
    seed: int

def check_vector(
    model: str | moralscope.core.protocols.LanguageModel | None = ...,
    options: moralscope.steer.options.SteerCheckOptions | None = ...,
    *,
    report: collections.abc.Callable[[int, int], None] | None = ...,
    progress: moralscope.models.store._entries.Progress | None = ...,
    **fields: Unpack[_CheckVectorKeywords],
) -> moralscope.core.records.RunRecord:
    """Certify a steering vector and return a run record."""

class _CollectKeywords(TypedDict, total=False):
    bots: tuple[str, ...]
    form: str
    strategy: str
    max_tokens: int
    decoding: moralscope.core.records.Decoding
    endpoint: str | None
    lexicons: tuple[str | pathlib.Path, ...]
    prompt_lexicons: tuple[str | pathlib.Path, ...]
    filters: str
    encoder: str
    threshold: float
    to: pathlib.Path | None
    resume: bool
    seed: int

def collect(
    prompts: str | pathlib.Path | moralscope.rules.collect.files.PromptFile | collections.abc.Sequence[moralscope.rules.collect.chatbots.CollectPrompt],
    options: moralscope.rules.collect.options.CollectOptions | None = ...,
    *,
    ready: moralscope.rules.collect.filters.Filters | None = ...,
    load: collections.abc.Callable[[str, moralscope.rules.collect.options.CollectOptions], moralscope.rules.collect.chatbots.Chatbot] = ...,
    report: collections.abc.Callable[[int, int], None] | None = ...,
    **changes: Unpack[_CollectKeywords],
) -> moralscope.core.records.RunRecord:
    """Ask every chatbot every prompt, filter the replies, and write what is kept."""

class _CompareKeywords(TypedDict, total=False):
    models: tuple[str, ...]
    human: pathlib.Path | None
    form: str
    endpoint: str | None
    max_requests: int | None
    samples: int
    axis: str
    template: str
    language: tuple[str, ...]
    fit: str
    fit_actions: pathlib.Path | None
    norm: str | None
    wordings: int | None
    gate: str | None
    seed: int

def compare(
    actions: collections.abc.Sequence[str] | moralscope.io.actions.ActionList,
    options: moralscope.axes.compare_options.CompareOptions | None = ...,
    *,
    encoders: collections.abc.Sequence[str | moralscope.core.protocols.Encoder] | None = ...,
    built: collections.abc.Sequence[moralscope.core.protocols.Axis] | None = ...,
    report: collections.abc.Callable[[int, int], None] | None = ...,
    **keywords: Unpack[_CompareKeywords],
) -> moralscope.core.records.RunRecord:
    """Score the same actions with every encoder and compare each pair of encoders."""

class _CompareCorporaKeywords(TypedDict, total=False):
    index: pathlib.Path | None
    width: int
    words: pathlib.Path | None
    sets: str
    runs: int
    dimensions: int
    min_count: int
    seed: int

def compare_corpora(
    corpora: collections.abc.Sequence[tuple[str, pathlib.Path]],
    options: moralscope.words.options.CorporaOptions | None = ...,
    *,
    report: collections.abc.Callable[[int, int], None] | None = ...,
    **fields: Unpack[_CompareCorporaKeywords],
) -> moralscope.core.records.RunRecord:
    """Compare how two or more corpora value actions."""

class _CompareLanguagesKeywords(TypedDict, total=False):
    encoders: tuple[str, ...]
    models: tuple[str, ...]
    human: pathlib.Path | None
    form: str
    endpoint: str | None
    max_requests: int | None
    samples: int
    axis: str
    template: str
    language: tuple[str, ...]
    fit: str
    fit_actions: pathlib.Path | None
    norm: str | None
    wordings: int | None
    gate: str | None
    seed: int

def compare_languages(
    actions: moralscope.axes.parallel.ParallelActions | None = ...,
    options: moralscope.axes.compare_options.CompareOptions | None = ...,
    *,
    model: moralscope.core.protocols.Encoder | moralscope.core.protocols.LanguageModel | None = ...,
    report: collections.abc.Callable[[int, int], None] | None = ...,
    **keywords: Unpack[_CompareLanguagesKeywords],
) -> moralscope.core.records.RunRecord:
    """Ask one model about the same actions in several languages, and check before ranking."""

class _CompareRunsKeywords(TypedDict, total=False):
    by: str | None
    strict: bool
    gate: str | None
    seed: int

def compare_runs(
    before: pathlib.Path,
    after: pathlib.Path,
    options: moralscope.runs.options.CompareRunsOptions | None = ...,
    **keywords: Unpack[_CompareRunsKeywords],
) -> moralscope.core.records.RunRecord:
    """Compare two saved runs of `score` or `audit`; positive changes are for the kinder."""

class _CorrelateWordsKeywords(TypedDict, total=False):
    dos: pathlib.Path | None
    donts: pathlib.Path | None
    sets: str
    seed: int

def correlate_words(
    options: moralscope.axes.options.CorrelateOptions | None = ...,
    *,
    encoder: str | moralscope.core.protocols.Encoder | None = ...,
    vectors: str | moralscope.core.protocols.WordVectors | None = ...,
    **keywords: Unpack[_CorrelateWordsKeywords],
) -> moralscope.core.records.RunRecord:
    """Correlate association and bias over dos and don'ts."""

class _EditKeywords(TypedDict, total=False):
    remove: str
    pairs: pathlib.Path | None
    source: str
    keep: tuple[str, ...]
    strength: float
    components: int
    save: pathlib.Path | None
    seed: int

def edit(
    encoder: str | moralscope.core.protocols.Encoder | None = ...,
    options: moralscope.steer.options.EditOptions | None = ...,
    **fields: Unpack[_EditKeywords],
) -> moralscope.core.records.RunRecord:
    """Remove a direction and return both biases before and after."""

class _EditedEncoderKeywords(TypedDict, total=False):
    remove: str
    pairs: pathlib.Path | None
    source: str
    keep: tuple[str, ...]
    strength: float
    components: int
    save: pathlib.Path | None
    seed: int

def edited_encoder(
    encoder: str | moralscope.core.protocols.Encoder | None = ...,
    options: moralscope.steer.options.EditOptions | None = ...,
    **fields: Unpack[_EditedEncoderKeywords],
) -> moralscope.models.encoders.edited.EditedEncoder:
    """Return the encoder without the direction, for use wherever an encoder is."""

class _ExtractKeywords(TypedDict, total=False):
    sets: str
    count: int
    verbs: str
    max_words: int | None
    any_case: bool
    valence: pathlib.Path | None
    seed: int

def extract(
    vectors: str | moralscope.core.protocols.WordVectors | None = ...,
    options: moralscope.words.options.ExtractOptions | None = ...,
    *,
    lexicon: moralscope.words.verbs.VerbLexicon | None = ...,
    progress: moralscope.models.store._entries.Progress | None = ...,
    **fields: Unpack[_ExtractKeywords],
) -> moralscope.core.records.RunRecord:
    """Return the most positive and most negative verbs of a vocabulary."""

class _LearnRulesKeywords(TypedDict, total=False):
    rulebook: str | pathlib.Path
    experts: str
    exact: bool
    seed: int
    labels: pathlib.Path | None

def learn_rules(
    options: moralscope.rules.options.LearnOptions | None = ...,
    *,
    models: moralscope.core.protocols.ExpertSet | None = ...,
    progress: moralscope.models.store._entries.Progress | None = ...,
    **changes: Unpack[_LearnRulesKeywords],
) -> moralscope.core.records.RunRecord:
    """Learn how the rules of a book are broken from labels, and store it beside the book."""

class _MakeVectorKeywords(TypedDict, total=False):
    form: str
    pairs: str | pathlib.Path
    layers: str | None
    method: str
    kl: float | None
    gate: bool
    save: pathlib.Path
    seed: int

def make_vector(
    model: str | moralscope.core.protocols.LanguageModel | None = ...,
    options: moralscope.steer.options.SteerMakeOptions | None = ...,
    *,
    step: collections.abc.Callable[[float, float], None] | None = ...,
    progress: moralscope.models.store._entries.Progress | None = ...,
    **fields: Unpack[_MakeVectorKeywords],
) -> moralscope.core.records.RunRecord:
    """Make a steering vector, save it, and return what is known of it."""

class _RankKeywords(TypedDict, total=False):
    encoder: str
    seed: int

def rank(
    question: str,
    answers: collections.abc.Sequence[str],
    options: moralscope.axes.options.RankOptions | None = ...,
    *,
    model: moralscope.core.protocols.Encoder | None = ...,
    **keywords: Unpack[_RankKeywords],
) -> _Record[moralscope.core.records.RankedAnswer]:
    """Rank answers by their cosine with the question and return a run record."""

class _ReproduceChoiceKeywords(TypedDict, total=False):
    seed: int
    vectors: tuple[str, ...]

def reproduce_choice(
    encoders: collections.abc.Sequence[str] | None = ...,
    options: moralscope.papers.options.ChoiceOptions | None = ...,
    *,
    progress: moralscope.models.store._entries.Progress | None = ...,
    show: collections.abc.Callable[[moralscope.papers.PaperTable], None] | None = ...,
    **fields: Unpack[_ReproduceChoiceKeywords],
) -> moralscope.core.records.RunRecord:
    """Compute the paper's tables for each encoder; one that cannot be fetched is reported."""

class _ReproduceDirectionKeywords(TypedDict, total=False):
    seed: int

def reproduce_direction(
    encoders: collections.abc.Sequence[str] | None = ...,
    options: moralscope.papers.options.EncodersOptions | None = ...,
    *,
    progress: moralscope.models.store._entries.Progress | None = ...,
    show: collections.abc.Callable[[moralscope.papers.PaperTable], None] | None = ...,
    **fields: Unpack[_ReproduceDirectionKeywords],
) -> moralscope.core.records.RunRecord:
    """Compute the paper's tables for each encoder; one that cannot be fetched is reported."""

class _ScoreKeywords(TypedDict, total=False):
    axis: str | None
    encoder: str | moralscope.core.protocols.Encoder
    template: str
    language: str
    fit: str
    fit_actions: pathlib.Path | None
    axis_file: pathlib.Path | None
    save_axis: pathlib.Path | None
    experts: str | None
    norm: str | None
    wordings: int | None
    eight_bits: bool
    model: str | moralscope.core.protocols.LanguageModel | None
    steer: pathlib.Path | None
    form: str
    layer: int | None
    endpoint: str | None
    max_requests: int | None
    samples: int
    seed: int
    human: pathlib.Path | moralscope.axes.ratings.Ratings | None
    framings: bool
    gate: str | None
    calibrate: bool
    batch_tokens: int | None

def score(
    actions: collections.abc.Sequence[str] | moralscope.io.actions.ActionList | moralscope.axes.score.ActionRows,
    options: moralscope.axes.options.ScoreOptions | None = ...,
    *,
    built: moralscope.core.protocols.Axis | None = ...,
    ratings: moralscope.axes.ratings.Ratings | None = ...,
    report: collections.abc.Callable[[int, int], None] | None = ...,
    **keywords: Unpack[_ScoreKeywords],
) -> moralscope.core.records.RunRecord:
    """Score actions; positive is good, negative is bad."""

class _SurveyKeywords(TypedDict, total=False):
    models: tuple[str, ...]
    steer: pathlib.Path | None
    form: str
    forms: tuple[str, ...]
    wordings: int
    limit: int | None
    priorities: bool
    pressure: bool
    free: bool
    replies: int
    rulebooks: tuple[str | pathlib.Path, ...]
    experts: str
    endpoint: str | None
    max_requests: int | None
    samples: int
    input_price: float | None
    output_price: float | None
    gate: str | None
    seed: int

def survey(
    items: str | pathlib.Path | collections.abc.Sequence[moralscope.surveys.items.Dilemma | moralscope.surveys.items.Statement],
    options: moralscope.surveys.options.SurveyOptions | None = ...,
    *,
    speakers: collections.abc.Sequence[moralscope.core.protocols.LanguageModel] | None = ...,
    auditor: moralscope.rules.load_auditor.AuditModels | None = ...,
    report: collections.abc.Callable[[int, int], None] | None = ...,
    progress: moralscope.models.store._entries.Progress | None = ...,
    **changes: Unpack[_SurveyKeywords],
) -> moralscope.core.records.RunRecord:
    """Ask language models about dilemmas or statements, in every order, form and wording."""

class _TeachKeywords(TypedDict, total=False):
    fit: str
    axis_file: pathlib.Path | None
    template: str
    reach: float
    save: pathlib.Path | None
    seed: int

def teach(
    corrections: collections.abc.Sequence[str] | collections.abc.Sequence[moralscope.steer.teach.Correction],
    options: moralscope.steer.options.TeachOptions | None = ...,
    *,
    encoder: str | moralscope.core.protocols.Encoder | None = ...,
    actions: collections.abc.Sequence[str] | moralscope.io.actions.ActionList | None = ...,
    **fields: Unpack[_TeachKeywords],
) -> moralscope.core.records.RunRecord:
    """Refit a direction with corrections; results are sorted by how far an action moved."""

class _TrainTaskKeywords(TypedDict, total=False):
    to: pathlib.Path
    recipe: str | None
    settings: tuple[str, ...]
    base: str | None
    base_is: str | None
    start: tuple[pathlib.Path, ...]
    limit: int | None
    test: bool
    seed: int | None
    task: str | None
    stories: pathlib.Path | None
    drafts: pathlib.Path | None

def train_task(
    options: moralscope.stories.options.StoriesTrainOptions | None = ...,
    *,
    report: collections.abc.Callable[[moralscope.models.training.records.TrainingProgress], None] | None = ...,
    progress: moralscope.models.store._entries.Progress | None = ...,
    **fields: Unpack[_TrainTaskKeywords],
) -> moralscope.core.records.RunRecord:
    """Train what the task's name means: classification experts, or a generator."""

class _WarrantKeywords(TypedDict, total=False):
    rulebook: str | pathlib.Path
    experts: str
    exact: bool
    seed: int
    labels: pathlib.Path | None
    benign: pathlib.Path | None
    false_alarms: str

def warrant(
    options: moralscope.rules.options.WarrantOptions | None = ...,
    *,
    models: moralscope.rules.load_auditor.AuditModels | None = ...,
    progress: moralscope.models.store._entries.Progress | None = ...,
    **changes: Unpack[_WarrantKeywords],
) -> moralscope.core.records.RunRecord:
    """Try whether a model can enforce each rule of a book, and store the warrant beside it."""
