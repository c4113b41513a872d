"""Flags that older versions had: what they are called now, told for one version.

By command, as it is typed ("stories train"); the value ends the sentence "--old is now …".
"""

_SCHEDULE = {
    "--epochs": "a setting of the recipe: --set epochs=N",
    "--learning-rate": "a setting of the recipe: --set learning_rate=RATE",
    "--batch": "a setting of the recipe: --set batch_size=N",
}
_TRAINING = {
    **_SCHEDULE,
    "--rank": "a setting of the recipe: --set rank=N",
    "--full": "a setting of the recipe: --set weights=all",
    "--max-length": "a setting of the recipe: --set max_length=N",
    "--patience": "a setting of the recipe: --set patience=N",
}

RENAMED: dict[str, dict[str, str]] = {
    "score": {
        "--max-actions": "gone: a list in one record has at most 200,000 actions; use --out DIR "
        "for longer ones",
    },
    "stories train": {
        **_TRAINING,
        "--paper": "a recipe: --recipe paper (texts: --recipe paper-texts)",
        "--grid": "a recipe: --recipe paper-grid, or --set grid.learning_rate=1e-5,3e-5",
        "--split": "a setting of the recipe: --set split=NAME",
        "--members": "a setting of the recipe: --set members=KIND",
        "--contrast": "a setting of the recipe: --set contrast=true",
        "--no-contrast": "a setting of the recipe: --set contrast=false",
        "--behaviours": "a setting of the recipe: --set behaviours=true",
        "--no-behaviours": "a setting of the recipe: --set behaviours=false",
        "--reversed-weight": "a setting of the recipe: --set reversed_weight=W",
        "--consistency": "a setting of the recipe: --set consistency=W",
        "--ethics": "a source of the recipe: --set sources=moral-stories,ethics",
    },
    "rules train": {
        **_TRAINING,
        "--rank": "a setting of the recipe: --set rank=N, with --data also --set weights=adapter",
        "--paper": "a recipe: --recipe paper-generator",
        "--grid": "a recipe: --recipe mic-grid",
        "--head": "a setting of the recipe: --set refit=alignment",
        "--rule-only": "a setting of the recipe: --set learn_prompt=false",
    },
    "collect-train": {**_SCHEDULE, "--paper": "a recipe: --recipe paper-filters"},
}
