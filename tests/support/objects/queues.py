"""A real server of Amazon SQS for tests: ElasticMQ, which keeps its queues in memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import botocore.session

from tests.support.network.serving import end, serving
from towpath.dev import ports
from towpath.model.secret import Secret
from towpath.runtime.home import home_folder
from towpath.settings import AwsKeys
from towpath.settings.sections.notify import NotifyConfig

SERVER = "elasticmq-server_2.13", "1.6.14"
NAME, SECRET, VARIABLE = "towpath-tests", "secret-of-tests", "TOWPATH_TESTS_QUEUE"
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>queues</artifactId>
<version>1</version><dependencies><dependency><groupId>org.elasticmq</groupId>
<artifactId>{}</artifactId><version>{}</version></dependency></dependencies></project>"""


def fetch() -> Path | None:
    """Return the folder of its jars; fetch them once with Maven, or return None without it."""
    folder = home_folder() / "-".join(SERVER)
    if folder.exists():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        return None
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        (Path(scratch) / "pom.xml").write_text(_POM.format(*SERVER))
        made = Path(scratch) / "made"
        into = ["-DincludeScope=runtime", f"-DoutputDirectory={made}"]
        command = [maven, "-q", "-B", "dependency:copy-dependencies", *into]
        subprocess.run(command, check=True, capture_output=True, cwd=scratch)
        made.replace(folder)
    return folder


class LocalQueues:
    """A running server.

    Args:
        jars: The folder of its jars.
        folder: Where its config and its log go.
    """

    def __init__(self, jars: Path, folder: Path) -> None:
        (self.port,) = ports.reserve(1)
        self.url = f"http://127.0.0.1:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "elasticmq.conf"
        config.write_text(
            'include classpath("application.conf")\n'
            f'rest-sqs {{ bind-port = {self.port}, bind-hostname = "127.0.0.1" }}\n'
            "rest-stats { enabled = false }\n"
        )
        jvm = ("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        command = ["java", *jvm, f"-Dconfig.file={config}", "-cp", f"{jars}/*"]
        command += ["org.elasticmq.server.Main"]
        env = {"JAVA_TOOL_OPTIONS": ""}
        self._process = serving(command, self.port, folder / "elasticmq.log", env, 60)
        self.client = botocore.session.Session().create_client(
            "sqs",
            region_name="us-east-1",
            endpoint_url=self.url,
            aws_access_key_id=NAME,
            aws_secret_access_key=SECRET,
        )

    def new(self, name: str, **more: Any) -> NotifyConfig:
        """Make a queue; return the config that reads it."""
        self.client.create_queue(QueueName=name)
        keys = AwsKeys(access_key_id=NAME, secret_access_key=Secret(SECRET))
        return NotifyConfig.model_validate(self.told(name, keys=keys, **more))

    def told(self, name: str, **more: Any) -> dict[str, Any]:
        """Return the section `notify` for a queue; the secret is in `VARIABLE`."""
        keys = {"access_key_id": NAME, "secret_access_key": f"env:{VARIABLE}"}
        given = {"kind": "sqs", "queue": name, "endpoint": self.url, "keys": keys, "wait": "1s"}
        return given | more

    def send(self, name: str, body: str) -> None:
        """Put a message into a queue."""
        url = self.client.get_queue_url(QueueName=name)["QueueUrl"]
        self.client.send_message(QueueUrl=url, MessageBody=body)

    def left(self, name: str) -> int:
        """Return how many messages a queue holds, also those that were received just now."""
        url = self.client.get_queue_url(QueueName=name)["QueueUrl"]
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.client.get_queue_attributes(QueueUrl=url, AttributeNames=names)
        return sum(int(each) for each in found["Attributes"].values())

    def stop(self) -> None:
        """End it."""
        end(self._process)


def notification(bucket: str, key: str, event: str = "ObjectCreated:Put") -> str:
    """Return the message that S3 sends about an object."""
    record: Mapping[str, Any] = {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-east-1",
        "eventTime": "2025-01-31T08:00:00.000Z",
        "eventName": event,
        "s3": {
            "s3SchemaVersion": "1.0",
            "bucket": {"name": bucket, "arn": f"arn:aws:s3:::{bucket}"},
            "object": {"key": quote_plus(key, safe="/"), "size": 7, "eTag": "x"},
        },
    }
    return json.dumps({"Records": [record]})


def by_sns(message: str) -> str:
    """Return a message as SNS hands it on."""
    return json.dumps({"Type": "Notification", "MessageId": "1", "Message": message})


if __name__ == "__main__":
    fetch()
