"""Values that are written as texts in a file, and have a type of their own."""

from __future__ import annotations

from typing import Any, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema


class FromText:
    """Tells pydantic how a value is read and written; comes before the type that it is made of."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: object) -> Self:
        """Return the value that a text means.

        Raises:
            ValueError: It means none.
        """
        raise NotImplementedError

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of such texts."""
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
