"""`moralscope stories`: Moral Stories, its splits, experts, generators and chains."""

import typer

from moralscope.cli import stories_data, stories_evaluate, stories_texts, training

app = typer.Typer(
    help="Norms, actions, consequences: data, experts that read the norm, chains of experts.",
    no_args_is_help=True,
)
app.command("stats", rich_help_panel="Data")(stories_data.stats)
app.command("split", rich_help_panel="Data")(stories_data.split)
app.command("reverse", rich_help_panel="Data")(stories_data.reverse)
app.command("train", rich_help_panel="Experts")(training.stories_train)
app.command("evaluate", rich_help_panel="Experts")(stories_evaluate.evaluate)
app.command("generate", rich_help_panel="Texts")(stories_texts.generate)
app.command("chain", rich_help_panel="Texts")(stories_texts.chain)
app.command("metrics", rich_help_panel="Texts")(stories_texts.metrics)
app.add_typer(stories_evaluate.people, name="people", rich_help_panel="Texts")
