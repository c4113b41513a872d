"""`moralscope bench`: public test sets over experts, endpoints and guards."""

from moralscope.benchmarks.options import BenchOptions
from moralscope.cli.declare import takes
from moralscope.cli.options import ReportOutput
from moralscope.cli.output import counting, emit_to, fetching, out, starting


@takes
def bench(options: BenchOptions, output: ReportOutput) -> None:
    """Run public test sets over experts, endpoints and guards: quality, speed and cost.

    You bring the sets: MORALSCOPE_DATA names their folder, 'moralscope data list' says where each
    is published. Without a set, those that can be run are listed. Weights that were trained on a
    set are marked. An endpoint is asked only if you name it.

    Example: moralscope bench moderation xstest --model mpnet --model minilm
    """
    from moralscope.benchmarks.bench import bench
    from moralscope.benchmarks.sets import load_sets
    from moralscope.core.errors import InputError

    if not options.sets:
        if output.json:
            raise InputError("no test set was named", "name one: moderation, xstest, hatecheck")
        for name, card in load_sets().items():
            out.print(f"{name:24}{card.title}", markup=False)
        return
    starting(*options.models, quiet=output.json)
    with fetching() as progress, counting("cases") as step:
        record = bench(options, report=step, progress=progress)
    emit_to(output, record)
