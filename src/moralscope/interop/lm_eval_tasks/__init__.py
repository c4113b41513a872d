"""Tasks for lm-eval: YAML files that it reads with --include_path, and the documents in `data`."""
