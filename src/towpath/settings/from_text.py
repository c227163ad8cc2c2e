"""The base of types that are written as texts in a file."""

from __future__ import annotations

from typing import Any, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema


class FromText:
    """Base of a type that is parsed from a text; tells pydantic how to read and write it."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: object) -> Self:
        """Parse the text of a value.

        Raises:
            ValueError: It means none.
        """
        raise NotImplementedError

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of texts of this type."""
        return {"type": "string"}

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        del source, handler
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        del schema, handler
        return cls.json_schema()
