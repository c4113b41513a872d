"""The local page: templates and static files. No build step, nothing from the network."""
