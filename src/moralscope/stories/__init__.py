"""Moral Stories (Emelin et al. 2021): norms, actions, consequences, experts, chains of experts."""
