"""Chains of experts (Emelin et al. 2021, section 4.4): recipes as data, one small engine."""
