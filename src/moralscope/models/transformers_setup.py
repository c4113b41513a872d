"""What has to be said to transformers before it loads a model."""

import logging
import os


def set_up_transformers() -> None:
    """Let transformers load models without bars and chatter, and torch hold little memory."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    # A product is kept for every batch size that ever came, up to 1024: hundreds of megabytes.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    logging.getLogger("transformers").setLevel(logging.ERROR)
