"""`moralscope words correlate`: association against question/answer bias."""

from typing import TYPE_CHECKING

from moralscope.cli.options import (
    Donts,
    Dos,
    Encoder,
    Figure,
    Json,
    Out,
    Report,
    Seed,
    Sets,
    Vectors,
)

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord


def correlate(
    encoder: Encoder = "minilm",
    vectors: Vectors = "googlenews-26k",
    sets: Sets = "papers",
    dos: Dos = None,
    donts: Donts = None,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    figure: Figure = None,
    seed: Seed = 0,
) -> None:
    """Correlate word association (WEAT) with question/answer bias, pooled and within groups.

    Figure 4 of Jentzsch et al. 2019, for any encoder and any vectors.

    Example: moralscope words correlate --encoder use-lite --figure figure4.svg
    """
    from moralscope.axes.correlate import WordLists, correlate_words
    from moralscope.cli.output import emit, fetching
    from moralscope.models.encoders import load_encoder
    from moralscope.words.associate import prepare_vectors

    with fetching() as progress:
        table = prepare_vectors(vectors, progress=progress)
        model = load_encoder(encoder, progress)
    lists = WordLists(dos, donts)
    record = correlate_words(lists, encoder=model, vectors=table, sets=sets, seed=seed)
    emit(record, json=json, path=out, show=_show, report=report, figure=figure)


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, correlation_rows, out, plain_table, print_warnings

    config, found = record.config, record.statistics
    title = f"association in {config['vectors']} against bias of {config['encoder']}"
    table = plain_table("figure", "value")
    for label, value in correlation_rows("r", found["correlation"]):
        table.add_row(label, value)
    for side, values in found["bias"].items():
        table.add_row(f"bias of {side}, mean (sd)", f"{values.mean:+.4f} ({values.sd:.4f})")
    table.add_row("t (Student)", f"{found['t'].t:.2f}{found['t'].stars}")
    out.print(clean(title), style="bold")
    out.print(table)
    print_warnings(record)
