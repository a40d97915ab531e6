"""Which URLs identity may rest on, and what this host is: told in one place, for whoever asks."""

from __future__ import annotations

from fsnotes.addresses import check, is_loopback
from fsnotes.errors import ConfigurationError


def taken(url: str) -> bool:
    try:
        check(url, "the URL")
    except ConfigurationError as error:
        return not str(error).startswith("the URL: ")  # it names what is wrong
    return True


def test_loopback_is_that_interface_and_its_name() -> None:
    good = ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "localhost", "LOCALHOST"]
    bad = ["0.0.0.0", "::", "::ffff:0.0.0.0", "10.0.0.1", "localhost.example", "127.0.0.1.example", ""]  # noqa: S104
    assert [text for text in good if not is_loopback(text)] + [
        text for text in bad if is_loopback(text)
    ] == []


def test_a_url_is_secure_when_it_is_https_or_on_loopback() -> None:
    good = [
        "https://a.example",
        "http://LOCALHOST/x",
        "http://[::ffff:127.0.0.1]/x",
        "https://a.example:8443/x?y=z",
        "http://localhost/x",
        "http://[::1]:9/x",
    ]
    bad = [
        "",
        "a",
        "http://a.example",
        "https://",
        "https:///x",
        "ftp://localhost",
        "file:///x",
        "https://a@b",
    ]
    bad += [
        "https://a:x/",
        "https://a/#",
        "https://a b",
        "https://\u00e4",
        "https://a\n",
        "http://127.0.0.1.a.example",
    ]
    bad += ["https://a:99999/", "https://[zz]/", "HTTPS://a.example", "http://[::ffff:10.0.0.1]/"]
    assert [text for text in good if not taken(text)] + [text for text in bad if taken(text)] == []
