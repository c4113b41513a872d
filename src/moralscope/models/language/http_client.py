"""How an address is asked: settings of the one HTTP client that endpoints and the guard use.

No cookies are kept (one client's would go out with another's request), nothing is redirected (the
key would go along), and what is on this machine is asked without a proxy, whatever HTTP_PROXY says.
What comes back is said without the key.
"""

import ipaddress
import re
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

_PLAIN = "identity"
_ESCAPE = re.compile(r"\\(?:u00([0-9a-fA-F]{2})|(/))")


def is_local(host: str | None) -> bool:
    """Tell whether a host name or address can only mean this machine.

    Examples
    --------
    >>> [is_local(host) for host in ("localhost", "127.0.0.8", "::1", "10.0.0.1", "a.org", None)]
    [True, True, True, False, False, False]
    """
    if not host:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def client_settings(url: str, timeout: float) -> dict[str, Any]:
    """Return the keywords of an HTTP client that asks `url` and nobody else."""
    return {
        "timeout": timeout,
        "headers": {"Accept-Encoding": _PLAIN},
        "follow_redirects": False,
        "trust_env": not is_local(urlsplit(url).hostname),  # offline, only these are asked
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=())),
    }


def is_packed(headers: Mapping[str, str]) -> bool:
    """Tell whether an answer is packed, which was not asked for: 1 kB can unpack to gigabytes."""
    return headers.get("content-encoding", _PLAIN).lower() != _PLAIN


def without_secret(secret: str, text: str, mark: str = "[key]") -> str:
    """Return a text without a secret, written out or in JSON's escapes, and with whole letters."""
    if not text.isascii():  # halves of a letter may have come in two chunks
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if not secret:
        return text
    text = text.replace(secret, mark)
    if "\\" in text:
        plain = _ESCAPE.sub(lambda m: m[2] or chr(int(m[1], 16)), text)
        text = plain.replace(secret, mark) if secret in plain else text
    return text
