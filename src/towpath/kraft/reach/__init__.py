"""How the processes and files of nodes are reached: on this machine, over ssh, in Kubernetes."""
