"""Public test sets that users bring, run over experts, endpoints and guards."""
