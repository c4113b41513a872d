"""The room of people: projects, quality checks, agreement. Built later."""
