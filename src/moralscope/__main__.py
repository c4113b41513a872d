"""`python -m moralscope` is `moralscope`."""

from moralscope.app.cli import main

if __name__ == "__main__":
    main()
