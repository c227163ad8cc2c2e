"""Records that Confluent's own clients write and read: Avro, Protobuf and JSON, with references."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    dual_schema_id_deserializer,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.json_format import MessageToDict, ParseDict

from tests.support.registries.registry import record

FORMATS = ("avro", "protobuf", "json")
"""The formats, which are also the ends of the names of topics."""
_PATIENCE = 60.0
Row = dict[str, Any]
Coder = Callable[[Any, SerializationContext], Any]

_MONEY = {"type": "object", "properties": {"cents": {"type": "integer"}}}
_ORDER = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "price": {"$ref": "money.json"}},
}
_MONEY_PROTO = """syntax = "proto3";
package shop;

message Money {
  int64 cents = 1; // of the currency of the shop
}
"""
_ORDER_PROTO = """syntax = "proto3";
package shop;

import "money.proto";

message Order {
  int64 number = 1;
  Money price = 2;
}
"""
_NEW_FORMAT = {"use.deprecated.format": False}
_INT64 = descriptor_pb2.FieldDescriptorProto.TYPE_INT64
_MESSAGE = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE


def write(bootstrap: str, url: str, prefix: str, count: int) -> dict[str, list[Row]]:
    """Register schemas and write records in each format; return the records by format.

    Half of the Avro records have an older version of their schema. Their keys are Avro, too.

    Args:
        bootstrap: The cluster.
        url: The registry.
        prefix: What the names of topics and subjects begin with.
        count: How many records of each format.
    """
    rows = [{"number": number, "price": {"cents": number * 7}} for number in range(count)]
    producer = Producer({"bootstrap.servers": bootstrap})
    of = _setup(url, prefix)
    with SchemaRegistryClient({"url": url}) as client:
        keys = AvroSerializer(client, '"long"')
        writers = _writers(client, of)
        for name in FORMATS:
            topic = f"{prefix}-{name}"
            for number, row in enumerate(rows):
                old, new = writers[name]
                write_value = old if number < count // 2 else new
                producer.produce(
                    topic,
                    key=keys(number, SerializationContext(topic, MessageField.KEY)),
                    value=write_value(row, SerializationContext(topic, MessageField.VALUE)),
                )
        producer.flush(_PATIENCE)
    return dict.fromkeys(FORMATS, rows)


def read(bootstrap: str, url: str, prefix: str, count: int) -> dict[str, list[Row]]:
    """Read the same records, each by its own schema, which only this registry is asked for."""
    found: dict[str, list[Row]] = {}
    with SchemaRegistryClient({"url": url}) as client:
        keys = AvroDeserializer(client)
        for name, read_value in _readers(client).items():
            topic = f"{prefix}-{name}"
            rows = []
            for message in _messages(bootstrap, topic, count):
                row = read_value(message.value(), SerializationContext(topic, MessageField.VALUE))
                key = keys(message.key(), SerializationContext(topic, MessageField.KEY))
                assert key == row["number"], f"{topic}: key {key} of {row}"
                rows.append(row)
            found[name] = sorted(rows, key=lambda row: row["number"])
    return found


def write_headers(bootstrap: str, url: str, topic: str, count: int) -> list[Row]:
    """Write Avro records whose headers name the schemas of key and value by their GUIDs.

    Half of them have an older version of their schema, and each has a header of its own. Keys and
    values are longer than a frame, as the deserializer refuses shorter ones although it needs none.
    """
    rows: list[Row] = [{"number": number, "note": f"order {number}"} for number in range(count)]
    producer = Producer({"bootstrap.servers": bootstrap})
    config = {"schema.id.serializer": header_schema_id_serializer}
    note = {"note": "string"}
    with SchemaRegistryClient({"url": url}) as client:
        keys = AvroSerializer(client, '"string"', conf=config)
        values = [
            AvroSerializer(client, json.dumps(record("Order", *fields, of=note)), conf=config)
            for fields in (("number",), ("number", "discount"))
        ]
        for number, row in enumerate(rows):
            headers: list[tuple[str, str | bytes | None]] = [("own", b"%d" % number)]
            key = SerializationContext(topic, MessageField.KEY, headers)
            value = SerializationContext(topic, MessageField.VALUE, headers)
            coded = keys(row["note"], key), values[number >= count // 2](row, value)
            producer.produce(topic, key=coded[0], value=coded[1], headers=headers)
        producer.flush(_PATIENCE)
    return rows


def read_headers(bootstrap: str, url: str, topic: str, count: int) -> list[Row]:
    """Read the same records by the GUIDs in their headers."""
    config = {"schema.id.deserializer": dual_schema_id_deserializer}
    found = []
    with SchemaRegistryClient({"url": url}) as client:
        read_part = AvroDeserializer(client, conf=config)
        for message in _messages(bootstrap, topic, count):
            headers = message.headers()
            key = SerializationContext(topic, MessageField.KEY, headers)
            value = SerializationContext(topic, MessageField.VALUE, headers)
            row = read_part(message.value(), value)
            row.pop("discount", None)
            assert read_part(message.key(), key) == row["note"]
            assert headers[0] == ("own", b"%d" % row["number"])
            found.append(row)
    return sorted(found, key=lambda row: row["number"])


def _messages(bootstrap: str, topic: str, count: int) -> Iterator[Any]:
    config = {"bootstrap.servers": bootstrap, "group.id": f"{topic}-reader"}
    with closing(Consumer(config)) as consumer:
        parts = consumer.list_topics(topic, _PATIENCE).topics[topic].partitions
        consumer.assign([TopicPartition(topic, part, 0) for part in parts])
        for _ in range(count):
            message = consumer.poll(_PATIENCE)
            assert message is not None, f"{topic}: no record came"
            assert message.error() is None, message.error()
            yield message


def _setup(url: str, prefix: str) -> Mapping[str, SchemaReference]:
    """Register what others refer to, and what no serializer registers; return the references."""
    # A client that has seen a schema as text would not ask for it in another format.
    with SchemaRegistryClient({"url": url}) as client:
        client.register_schema(f"{prefix}.Money", Schema(json.dumps(record("Money", "cents"))))
        client.register_schema(f"{prefix}.money.json", Schema(json.dumps(_MONEY), "JSON"))
        client.register_schema("money.proto", Schema(_MONEY_PROTO, "PROTOBUF"))
        proto = SchemaReference("money.proto", "money.proto", 1)
        order = Schema(_ORDER_PROTO, "PROTOBUF", [proto])
        client.register_schema(f"{prefix}-protobuf-value", order)
    return {
        "avro": SchemaReference("Money", f"{prefix}.Money", 1),
        "json": SchemaReference("money.json", f"{prefix}.money.json", 1),
    }


def _writers(
    client: SchemaRegistryClient, of: Mapping[str, SchemaReference]
) -> Mapping[str, tuple[Coder, Coder]]:
    """Return for each format what writes the first half of the records, and what the second."""
    old = record("Order", "number", of={"price": "Money"})
    new = record("Order", "number", "discount", of={"price": "Money"})
    as_json = JSONSerializer(Schema(json.dumps(_ORDER), "JSON", [of["json"]]), client)
    # The registry of the tests knows Protobuf as text only, so the client does not register it.
    settings = {"auto.register.schemas": False, "use.latest.version": True}
    as_protobuf = ProtobufSerializer(_ORDER_CLASS, client, {**_NEW_FORMAT, **settings})

    def protobuf(row: Row, context: SerializationContext) -> Any:
        return as_protobuf(ParseDict(row, _ORDER_CLASS()), context)

    return {
        "avro": (
            AvroSerializer(client, Schema(json.dumps(old), "AVRO", [of["avro"]])),
            AvroSerializer(client, Schema(json.dumps(new), "AVRO", [of["avro"]])),
        ),
        "protobuf": (protobuf, protobuf),
        "json": (as_json, as_json),
    }


def _readers(client: SchemaRegistryClient) -> Mapping[str, Coder]:
    avro, from_json = AvroDeserializer(client), JSONDeserializer(None, None, client)

    def without_discount(data: Any, context: SerializationContext) -> Row:
        row: Row = avro(data, context)
        row.pop("discount", None)
        return row

    from_protobuf = ProtobufDeserializer(_ORDER_CLASS, _NEW_FORMAT, client)

    def protobuf(data: Any, context: SerializationContext) -> Row:
        # Protobuf writes 64-bit numbers into JSON as texts, and leaves out zeros.
        row = MessageToDict(from_protobuf(data, context))
        price = {"cents": int(row.get("price", {}).get("cents", 0))}
        return {"number": int(row.get("number", 0)), "price": price}

    return {"avro": without_discount, "protobuf": protobuf, "json": from_json}


def _order_class() -> Any:
    """Return the class of the message, which protoc would make of the texts above."""
    files = descriptor_pb2.FileDescriptorProto
    money = files(name="money.proto", package="shop", syntax="proto3")
    order = files(name="order.proto", package="shop", syntax="proto3", dependency=[money.name])
    _field(money.message_type.add(name="Money"), "cents", 1, _INT64)
    fields = order.message_type.add(name="Order")
    _field(fields, "number", 1, _INT64)
    _field(fields, "price", 2, _MESSAGE).type_name = ".shop.Money"
    pool = descriptor_pool.DescriptorPool()
    for each in (money, order):
        pool.Add(each)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def _field(of: Any, name: str, number: int, kind: Any) -> Any:
    optional = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
    return of.field.add(name=name, number=number, type=kind, label=optional)


_ORDER_CLASS = _order_class()
