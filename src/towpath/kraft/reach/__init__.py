"""Drivers for processes and files of nodes: on this machine, over ssh, in Kubernetes."""
