"""Helpers of the tests of KRaft: labs, ZooKeepers, logs of controllers, hosts, clients."""
