"""kafka-python's messages are imported without its clients, which are there for who wants them."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

MESSAGES = """
import sys
import towpath.cluster.admin
print(*sorted({"kafka.admin", "kafka.consumer", "kafka.net.selector"} & set(sys.modules)))
"""
CLIENTS = """
import towpath.cluster.admin
from kafka import KafkaAdminClient, errors
from kafka.net import KafkaConnection
import kafka, kafka.net
print(KafkaAdminClient.__name__, KafkaConnection.__name__, errors.KafkaError.__name__)
print(type(kafka).__name__, type(kafka.net).__name__, kafka.__version__ > "")
"""
ORIGINAL = """
import kafka
import towpath.cluster.admin
print(kafka.KafkaConsumer.__name__)
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (MESSAGES, []),
        (CLIENTS, ["KafkaAdminClient KafkaConnection KafkaError", "module module True"]),
        (ORIGINAL, ["KafkaConsumer"]),
    ],
)
def test_clients_are_imported_only_for_who_wants_them(program: str, said: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split("\n") == [*said, ""] or ran.stdout.split() == said
