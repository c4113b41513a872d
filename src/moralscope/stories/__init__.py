"""The room of Moral Stories: norms, actions, consequences, chains. Built later."""
