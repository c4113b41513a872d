"""`python -m moralscope` is `moralscope`."""

from moralscope.cli import main

if __name__ == "__main__":
    main()
