"""The package's front: every public name can be had, and having none costs nothing."""

import subprocess
import sys

import pytest

import moralscope


@pytest.mark.parametrize("name", moralscope.__all__)
def test_every_public_name_is_there(name):
    assert getattr(moralscope, name) is not None
    assert name in dir(moralscope)


def test_a_name_that_is_not_there_says_so():
    with pytest.raises(AttributeError, match="no attribute 'scor'"):
        _ = moralscope.scor


def test_importing_the_package_loads_nothing_heavy():
    script = "import moralscope, sys; print([m for m in ('torch', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[]"
