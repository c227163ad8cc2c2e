"""Modes and configs of a schema registry, for one subject or for all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from towpath.model.errors import RegistryRefusedError
from towpath.model.schemas import (
    ALL_SUBJECTS,
    IMPORT,
    QualifiedName,
    SubjectConfig,
    SubjectName,
)
from towpath.registry import forms
from towpath.registry.http import NOT_THERE, RegistryHttp
from towpath.registry.kinds import Traits

_NOT_EMPTY = 422


class RegistrySettings:
    """Reads and sets modes and configs; thread-safe.

    Args:
        http: The registry.
        traits: Returns what this make of registry can hold.
    """

    def __init__(self, http: RegistryHttp, traits: Callable[[], Traits]) -> None:
        self._http, self._traits = http, traits

    def restoring(self) -> AbstractContextManager[None]:
        """Allow this thread's changes after `stop`, as they restore settings."""
        return self._http.restoring()

    def config(self, subject: SubjectName) -> SubjectConfig:
        """Return a subject's own settings.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        found = self.compatibility(subject)
        return replace(found, mode=self.mode(subject))

    def compatibility(self, subject: SubjectName) -> SubjectConfig:
        """Return a subject's own settings without its mode.

        `ALL_SUBJECTS`, or a name with a context alone, gives what is set for all subjects.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        what = f"read the config of {subject}"
        found = self._http.if_any(what, forms.path_of("config", subject)) or {}
        with self._http.reading(what):
            return forms.subject_config(found)

    def mode(self, subject: SubjectName = ALL_SUBJECTS) -> str | None:
        """Return a subject's own mode, `None` if it has none; without a subject, the global one.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        if not self._traits().has_modes:
            return None
        return self._mode(f"read the mode of {subject}", forms.path_of("mode", subject))

    def mode_within(self, context: str) -> str | None:
        """Return the mode that applies to subjects of a context without a mode of their own.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        if not self._traits().has_modes:
            return None
        path = forms.path_of("mode", QualifiedName(context, "").subject)
        return self._mode(f"read the mode of {context}", path, {"defaultToGlobal": "true"})

    def _mode(self, what: str, path: str, query: dict[str, str] | None = None) -> str | None:
        found = self._http.if_any(what, path, query)
        with self._http.reading(what):
            return None if found is None else str(found["mode"])

    def set_mode(self, subject: SubjectName, mode: str | None) -> None:
        """Set a subject's mode, or remove the mode so that the global one applies.

        A registry without modes is left alone.

        Raises:
            ClusterError: The registry cannot be asked, or refuses.
        """
        if not self._traits().has_modes:
            return
        path, what = forms.path_of("mode", subject), f"set the mode of {subject} to {mode}"
        if mode is None:
            self._remove(f"remove the mode of {subject}", path)
            return
        try:
            self._http.call(what, "PUT", path, None, {"mode": mode})
        except RegistryRefusedError as error:
            if mode != IMPORT or error.status != _NOT_EMPTY:
                raise
            # A subject that has versions goes into IMPORT by force alone.
            self._http.call(what, "PUT", path, {"force": "true"}, {"mode": mode})

    def set_config(self, subject: SubjectName, wanted: SubjectConfig, now: SubjectConfig) -> None:
        """Set a subject's settings, except its mode.

        Args:
            subject: The subject.
            wanted: What it has afterwards.
            now: What it has now.

        Raises:
            ClusterError: The registry cannot be asked, or refuses.
        """
        path, body = forms.path_of("config", subject), forms.config_body(wanted)
        if forms.config_body(now).keys() - body.keys():
            # Registries keep what they are not told of.
            self._remove(f"remove the config of {subject}", path)
        if body:
            self._http.call(f"set the config of {subject}", "PUT", path, None, body)

    def _remove(self, what: str, path: str) -> None:
        try:
            self._http.call(what, "DELETE", path)
        except RegistryRefusedError as error:
            # That it is not there is well, unless the registry has no such call.
            if error.status != NOT_THERE or self._http.if_any(what, path) is not None:
                raise
