"""Selectors are read strictly: a rule with a typing error must not silently match nothing."""

import pytest

from policy.selectors import BadSelector, selector


@pytest.mark.parametrize(
    "text",
    ["*", "default/career", "default/*", "tag:office", "tag:a b", "kind:chat", "kind:shell", "project:org/repo"],
)
def test_every_form_is_accepted(text: str) -> None:
    assert selector(text) == text


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("career", "default/*"),
        ("", "write an id like"),
        ("**", "write an id like"),
        ("default/", "write an id like"),
        ("default/Career", "write an id like"),
        ("default/car*", "write an id like"),
        ("*/career", "write an id like"),
        ("default/a/b", "write an id like"),
        ("default/career\n", "write an id like"),
        ("tag:", "write an id like"),
        ("tag: office", "write an id like"),
        ("tags:office", "write an id like"),
        ("kind:robot", "kind:chat"),
        ("kind:", "kind:chat"),
    ],
)
def test_anything_else_is_refused_with_what_to_write(text: str, remedy: str) -> None:
    with pytest.raises(BadSelector) as caught:
        selector(text)
    assert repr(text) in str(caught.value)
    assert remedy in caught.value.remedy or "PROFILE/" in caught.value.remedy
