"""The four papers: what they print, set beside what we measure (`moralscope reproduce`)."""
