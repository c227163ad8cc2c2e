"""The controllers' metadata log, read over the network as an observer."""
