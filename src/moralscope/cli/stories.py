"""`moralscope stories`: Moral Stories, its splits, experts, generators and chains."""

import typer

from moralscope.cli import (
    stories_chain,
    stories_evaluate,
    stories_generate,
    stories_metrics,
    stories_people,
    stories_reverse,
    stories_split,
    stories_stats,
    stories_train,
)

app = typer.Typer(
    help="Norms, actions, consequences: data, experts that read the norm, chains of experts.",
    no_args_is_help=True,
)
app.command("stats", rich_help_panel="Data")(stories_stats.stats)
app.command("split", rich_help_panel="Data")(stories_split.split)
app.command("reverse", rich_help_panel="Data")(stories_reverse.reverse)
app.command("train", rich_help_panel="Experts")(stories_train.train)
app.command("evaluate", rich_help_panel="Experts")(stories_evaluate.evaluate)
app.command("generate", rich_help_panel="Texts")(stories_generate.generate)
app.command("chain", rich_help_panel="Texts")(stories_chain.chain)
app.command("metrics", rich_help_panel="Texts")(stories_metrics.score_texts)
app.add_typer(stories_people.app, name="people", rich_help_panel="Texts")
