"""The commented file of a migration that `towpath init --kind kraft` writes."""

from __future__ import annotations

EXAMPLE = """\
## A migration brings a cluster from ZooKeeper to KRaft, step by step, and back while it can.
## Check this file with `towpath lint FILE`, the cluster with `towpath kraft check FILE`.
## Editors complete and check it after `towpath schema --kind kraft > kraft.schema.json` in this
## folder, with `yaml-language-server: $schema=kraft.schema.json` behind a # in the first line.
## Lines with one # are optional keys; docs/configuration.md lists all keys.

kind: kraft

## The name of this migration in its journal and report; never change it later.
kraft: my-first-migration

## The brokers as clients reach them.
cluster:
  bootstrap: "broker1:9092,broker2:9092,broker3:9092"
  #tls: {ca: ca.pem}
  #sasl: {mechanism: SCRAM-SHA-512, username: admin, password: "env:KAFKA_PASSWORD"}

zookeeper:
  ## As in the brokers' own `zookeeper.connect`.
  connect: "zookeeper1:2181,zookeeper2:2181,zookeeper3:2181/kafka"
  #username: towpath
  #password: "env:ZOOKEEPER_PASSWORD"

## Every broker. A path is one on the broker's host.
brokers:
  - {id: 1, address: "broker1:9092", properties: /etc/kafka/server.properties}
  - {id: 2, address: "broker2:9092", properties: /etc/kafka/server.properties}
  - {id: 3, address: "broker3:9092", properties: /etc/kafka/server.properties}

## The controllers that take over; their properties are written from those of the brokers.
controllers:
  nodes:
    - id: 3001
      address: "controller1:9093"
      properties: /etc/kafka/controller.properties
      data: /var/lib/kafka
    - id: 3002
      address: "controller2:9093"
      properties: /etc/kafka/controller.properties
      data: /var/lib/kafka
    - id: 3003
      address: "controller3:9093"
      properties: /etc/kafka/controller.properties
      data: /var/lib/kafka
  #listener: CONTROLLER
  #properties: {metadata.log.max.record.bytes.between.snapshots: "20971520"}

## How processes and files are reached: ssh, or local.
driver:
  via: ssh
  user: kafka
  #broker_unit: kafka.service
  #controller_unit: kafka-controller.service
  format: "/opt/kafka/bin/kafka-storage.sh format --cluster-id={cluster_id} -c {properties}"

## Where this machine keeps what was approved, done, measured and proven.
journal: /var/lib/towpath/my-first-migration

#limits:
#  in_sync: 30m
#  soak: 7d
"""
