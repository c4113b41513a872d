"""What is done to a rulebook: looked into, checked, warranted, taught."""
