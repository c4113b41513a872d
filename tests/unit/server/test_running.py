"""Where a server listens: closed unless somebody opens it on purpose."""

import socket

import pytest

from moralscope.core.errors import InputError
from moralscope.server.running import ServerAddress, bind


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.9"])
def test_loopback_needs_no_secret(host):
    ServerAddress(host).check(has_secret=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "annotate.example.org"])
def test_an_open_host_needs_a_secret(host):
    with pytest.raises(InputError, match="MORALSCOPE_TOKEN_SECRET"):
        ServerAddress(host).check(has_secret=False)
    ServerAddress(host).check(has_secret=True)


@pytest.mark.parametrize("wrong", ["example.org", "ftp://example.org", "https://", "javascript:1"])
def test_a_public_address_is_an_address(wrong):
    with pytest.raises(InputError, match="is not a URL"):
        ServerAddress(public_url=wrong).check(has_secret=True)


def test_https_is_known_by_the_public_address():
    assert ServerAddress(public_url="https://a.org").is_https
    assert not ServerAddress(public_url="http://a.org").is_https
    assert not ServerAddress().is_https


def test_a_port_in_use_is_refused_in_one_line():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(InputError, match=r"cannot listen.*--port"):
            bind(ServerAddress(port=other.getsockname()[1]))


def test_an_impossible_port_is_refused():
    with pytest.raises(InputError, match="cannot listen"):
        bind(ServerAddress(port=99999))


def test_port_zero_is_any_free_one_and_announced():
    with bind(ServerAddress(port=0)) as bound:
        assert ServerAddress(port=0).url(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}"
        assert ServerAddress(public_url="https://a.org/").url(bound) == "https://a.org"
        assert ServerAddress("::1").url(bound).startswith("http://[::1]:")
        assert "0.0.0.0" not in ServerAddress("0.0.0.0").url(bound)
