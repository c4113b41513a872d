"""What `collect` needs: chatbots, lexicons, classifiers."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.core.protocols import Classifier
from moralscope.core.records import ModelRef
from moralscope.models.classifiers import ScriptedExperts
from moralscope.models.encoders import load_encoder
from moralscope.models.language import EndpointOptions, load_generator
from moralscope.models.language.chat_template import load_chat_template, model_folder
from moralscope.models.language.decoding import check_request
from moralscope.models.store import Progress
from moralscope.rules.collect.exchanges import Asked, Chatbot, by_names
from moralscope.rules.collect.files import check_place
from moralscope.rules.collect.filters import (
    TASKS,
    Sieve,
    ZeroShotMoralContent,
    ZeroShotSufficiency,
)
from moralscope.rules.collect.lexicons import Lexicon, load_lexicon
from moralscope.rules.options import ZERO_SHOT, CollectOptions
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.stories.experts import ExpertSet, prepare_experts

NONE, SCRIPTED = "none", "scripted"
ENDPOINT = "openai:"


def check_options(options: CollectOptions) -> None:
    """Refuse options that cannot be met before anything is loaded.

    Examples
    --------
    >>> check_options(CollectOptions(bots=("scripted",)))
    """
    name, count = Counter(map(bot_label, options.bots)).most_common(1)[0]
    if count > 1:
        raise InputError(f"'{name}' is named {count} times", "name each chatbot once")
    check_request([], options.decoding, [])
    if options.to is not None:
        check_place(options.to)


def bot_label(name: str) -> str:
    """Return what exchanges call a chatbot: its name, of a folder without its place.

    Examples
    --------
    >>> bot_label("smollm2"), bot_label("openai:my-model")
    ('smollm2', 'openai:my-model')
    """
    folder = Path(name).expanduser()
    return folder.resolve().name if _is_local(name) and folder.is_dir() else name


@dataclass(frozen=True, slots=True)
class Filters:
    """A ready sieve, the lexicons that prompts must meet, and the weights in them."""

    sieve: Sieve
    prompt_lexicons: tuple[Lexicon, ...] = ()
    refs: tuple[ModelRef, ...] = ()


def prepare(
    options: CollectOptions, progress: Progress | None = None, *, cached: bool = True
) -> Filters:
    """Load the filters and fetch the weights of every chatbot, which are loaded one at a time.

    Without `cached` the filters keep no row on disk.

    Examples
    --------
    >>> prepare(CollectOptions(bots=("scripted",), filters="none")).refs
    ()
    """
    check_options(options)
    sieve = Sieve(_lexicons(options.lexicons), threshold=options.threshold)
    prompt_lexicons = _lexicons(options.prompt_lexicons)
    for name in filter(_is_local, options.bots):
        model_folder(name, progress=progress)
    found, refs = _classifiers(options, progress, cached)
    if found:
        sieve = replace(sieve, sufficiency=found[0], moral_content=found[1])
    return Filters(sieve, prompt_lexicons, refs)


def prepare_bot(name: str, options: CollectOptions) -> Chatbot:
    """Load a chatbot and find the form in which it is asked.

    Examples
    --------
    >>> prepare_bot("scripted", CollectOptions(bots=("scripted",))).form
    'plain'
    """
    served = EndpointOptions(options.endpoint, log_probabilities=False)
    generator = load_generator(name, endpoint=served)
    seed, label = options.seed, bot_label(name)
    if not _is_local(name):  # a server has the template
        if options.form == "names":
            return Chatbot(label, generator, "names", lambda prompt: by_names(prompt, seed))
        return Chatbot(label, generator, "plain", Asked)
    wording = load_chat_template(name)
    form = options.form
    if form == "auto":
        form = "chat" if wording.has_chat else "plain" if wording.reads_first else "names"
    if form == "chat" and not wording.has_chat:
        raise InputError(f"'{name}' brings no chat template", "use --form names or plain")
    asks: dict[str, Callable[[str], Asked]] = {
        "chat": lambda prompt: Asked(wording.chat(prompt)),
        "plain": lambda prompt: Asked(wording.plain(prompt)),
        "names": lambda prompt: by_names(wording.plain(prompt), seed),
    }
    return Chatbot(label, generator, form, asks[form])


def _classifiers(
    options: CollectOptions, progress: Progress | None, cached: bool
) -> tuple[tuple[Classifier, ...], tuple[ModelRef, ...]]:
    """Return those for sufficiency and moral content, or none, and their weights."""
    if options.filters == NONE:
        return (), ()
    if options.filters == ZERO_SHOT:
        encoder = load_encoder(options.encoder, progress, cached=cached)
        rules = [rule.text for rule in shipped_rulebook().rules]
        own = (ZeroShotSufficiency(encoder), ZeroShotMoralContent(encoder, rules))
        refs = [ModelRef(one.name, one.checksum) for one in (encoder, *own)]
        return own, tuple(refs)
    if options.filters == SCRIPTED:
        experts: ExpertSet = ScriptedExperts(TASKS)
    else:
        experts = prepare_experts(options.filters, progress=progress)
    return tuple(_trained(experts, task) for task in TASKS), (experts.ref,)


def _trained(experts: ExpertSet, task: str) -> Classifier:
    if task not in experts.tasks:
        raise InputError(
            f"'{experts.ref.name}' has no expert for {task}",
            "give zero-shot, none, or a folder that 'moralscope collect-train' wrote",
        )
    expert = experts.expert(task)
    if expert.labels != TASKS[task]:
        problem = f"the expert for {task} tells {', '.join(expert.labels)}"
        raise InputError(problem, f"it should tell {', '.join(TASKS[task])}")
    return expert


def _is_local(name: str) -> bool:
    return name != SCRIPTED and not name.startswith(ENDPOINT)


def _lexicons(names: Iterable[str]) -> tuple[Lexicon, ...]:
    return tuple(load_lexicon(name) for name in names)
