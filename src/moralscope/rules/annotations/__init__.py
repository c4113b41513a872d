"""Annotations of people: MIC.csv and SOCIAL-CHEM-101, what they hold, how good rules are."""
