"""Clients of other makers that know nothing but a gateway while their cluster moves.

Each is a program `KIND NAME TOPIC key=value...` in a process of its own, until its standard input
ends: `write` sends numbered records as the producer NAME to two partitions in turn, `read` reads as
a member of the group NAME. What each prints is what `java/MovingClient.java` prints.
"""
