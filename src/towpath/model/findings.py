"""Notes and problems that a person should know before mirroring."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towpath.model.errors import ClusterError, RefusedError
from towpath.model.nouns import Side


class Cause(StrEnum):
    """The causes of a problem, which decide the exit code of a command."""

    CLUSTER = "cluster"
    """A cluster was not reached, or refuses what the whole link needs; somebody must act."""
    AWAY = "away"
    """A cluster does not answer, or asks to try again: it may pass by itself."""
    FILE = "file"
    """The file asks for what cannot be."""
    RIGHTS = "rights"
    """The login lacks a right on one topic."""
    TOPIC = "topic"
    """One topic cannot be mirrored."""
    OTHER_LINK = "other link"
    """Another link writes the mirror topic."""
    SUBJECT = "subject"
    """A config, a user or another item besides records cannot be made the same."""
    KEEPS_LESS = "keeps less"
    """The mirror topic deletes what the source has, by settings that the link may not change."""


def without_side(about: str, text: str) -> str:
    """Return a text without the side that its subject already names.

    Errors of clusters begin with the side, which need not be said twice.
    """
    if about not in set(Side):
        return text
    return text.removeprefix(f"{about}: ").replace(f": {about}: ", ": ")


class Heading(StrEnum):
    """The headings under which notes are shown."""

    NONE = ""
    REFUSED = "what Kafka 4 refuses"
    UNKNOWN = "what the older target does not know"
    LATER = "what Kafka 5.0 is planned to refuse"


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """A fact that may be unexpected but prevents nothing.

    Attributes:
        about: The topic, user, cluster and so on that is meant.
        text: A sentence that makes sense for several of them, too.
        section: The notes among which it is shown.
    """

    about: str
    text: str
    section: Heading = Heading.NONE

    def __str__(self) -> str:
        return f"{self.about}: {without_side(self.about, self.text)}"


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """What keeps a topic or another item, or all topics, from being mirrored.

    Attributes:
        about: The source topic, cluster or YAML path meant.
        text: A sentence that says what to do.
        cause: Whose fault it is.
    """

    about: str
    text: str
    cause: Cause

    def __str__(self) -> str:
        return f"{self.about}: {without_side(self.about, self.text)}"

    @classmethod
    def of(cls, error: ClusterError, about: str) -> Problem:
        """Return the problem that an error represents for the topic `about`."""
        cause = Cause.CLUSTER
        if isinstance(error, RefusedError):
            cause = Cause.RIGHTS if error.forbidden else Cause.TOPIC
        return cls(about, str(error), cause)
