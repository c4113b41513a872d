"""`moralscope audit`: which rules of thumb a chatbot's replies keep or break."""

from dataclasses import replace
from pathlib import Path

from moralscope.batch.options import BatchOptions
from moralscope.cli.corpus import run_over_corpus, wants_corpus
from moralscope.cli.declare import takes
from moralscope.cli.options import CorpusOutput
from moralscope.cli.output import counting, emit_to, fetching, note, require_gate, starting
from moralscope.core.errors import InputError
from moralscope.rules.audit_options import AuditInput, AuditOptions

_LIMITS = "audit.toml"  # where the limit of a false-alarm budget is kept, if no config is named


@takes
def audit(
    source: AuditInput, options: AuditOptions, batch: BatchOptions, output: CorpusOutput
) -> None:
    """Audit replies: a verdict on each, and the rules that explain it.

    A reply is flagged if it reads as bad or breaks a rule. If you give only rules of your own, only
    they decide. Text that is not English gets no verdict. Nothing leaves this machine. --text and
    --texts audit texts that aren't replies: posts, users' messages.

    With --out DIR the input is a corpus of any size. Its columns and the verdicts are written as
    Parquet files.

    With --conversation every turn of the assistant is judged in its context, tool calls too.

    Example: moralscope audit replies.jsonl --gate "flagged<=0.02" --report audit.html
    """
    from moralscope.io.files import check_writable
    from moralscope.rules import audit as job
    from moralscope.rules.texts.exchanges import open_exchanges, parse_columns, read_exchanges

    if source.conversation is not None:
        inputs = (source.conversation,)
        if not wants_corpus(inputs, output.out, batch, parquet=False):
            if source.columns is not None:
                raise InputError("--columns belongs to a corpus", "add --out DIR, or leave it out")
            output.check_file()
            _audit_conversations(Path(source.conversation), options, output)
            return
        from moralscope.batch.job import job_columns
        from moralscope.rules.conversation_batch import READS, ConversationBatch

        talks = ConversationBatch(options, job_columns(source.columns, READS))
        require_gate(run_over_corpus(talks, inputs, batch, output))
        return
    if source.text is not None:
        options = replace(options, texts=True)
    job.check_options(options, paired=source.against is not None)
    names = parse_columns(source.columns, texts=options.texts)
    if wants_corpus(source.file, output.out, batch):
        from moralscope.batch.job import job_columns
        from moralscope.rules.audit_batch import AuditBatch

        source.check_corpus()
        columns = job_columns(source.columns, AuditBatch.reads) if not options.texts else names
        require_gate(run_over_corpus(AuditBatch(options, columns), source.file, batch, output))
        return
    if (options.false_alarms is None) != (source.benign is None):
        raise InputError("--false-alarms and --benign go together", "give both, or neither")
    output.check_file()
    limits = options.config or Path(_LIMITS)
    if source.benign is not None:
        check_writable(limits)
    one = source.one()
    starting(options.experts, reading=one.file, quiet=output.json)
    exchanges = read_exchanges(one, texts=options.texts)
    other = open_exchanges(source.against, names) if source.against else None
    fine = open_exchanges(source.benign, names) if source.benign else None
    with fetching() as progress:
        models = job.prepare_auditor(options, progress)
    if fine is not None and options.false_alarms is not None:
        with counting("fine replies") as step:
            models = job.set_budget(models, fine, options.false_alarms, step)
    with counting("replies") as step:
        record = job.audit(exchanges, options, models=models, against=other, report=step)
    if fine is not None:
        job.store_limit(record, options, limits)
        note(f"the limit is in {limits}: give it with --config {limits}")
    emit_to(output, record)
    require_gate(record)


def _audit_conversations(file: Path, options: AuditOptions, output: CorpusOutput) -> None:
    """Audit a file of conversations and show the record."""
    from moralscope.rules import audit as job
    from moralscope.rules.conversations.conversation import read_conversations

    starting(options.experts, reading=file, quiet=output.json)
    conversations = read_conversations(file)  # refused before any weights are fetched
    with fetching() as progress:
        models = job.prepare_auditor(replace(options, gate=None), progress)
    with counting("conversations") as step:
        record = job.audit_conversations(conversations, options, models=models, report=step)
    emit_to(output, record)
    require_gate(record)
