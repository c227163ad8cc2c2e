"""Values of options that several commands share. Pure."""

from __future__ import annotations

import pytest

from towpath.cli.options import numbers_of
from towpath.model.errors import ConfigError


def test_numbers_are_named_one_by_one_and_as_ranges() -> None:
    assert numbers_of("0,3-5, 4,7-7") == {0, 3, 4, 5, 7}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,x", "--partitions: '1,x' are not numbers such as 0,3-5"),
        ("", "--partitions: '' are not numbers such as 0,3-5"),
        ("5-3", "--partitions: 5-3 ends before it begins; write 3-5"),
    ],
)
def test_what_names_no_number_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        numbers_of(text)
    assert said in str(caught.value)
