"""How an address is asked: settings of the one HTTP client that endpoints and the guard use.

No cookies are kept (one client's would go out with another's request), nothing is redirected (the
key would go along), and what is on this machine is asked without a proxy, whatever HTTP_PROXY says.
"""

import ipaddress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit


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
    """Return the keywords of an HTTP client that asks `url` and nobody else.

    Examples
    --------
    >>> client_settings("http://127.0.0.1:8080/v1", 5)["trust_env"]
    False
    """
    return {
        "timeout": timeout,
        "follow_redirects": False,
        "trust_env": not is_local(urlsplit(url).hostname),  # offline, only these are asked
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=())),
    }
