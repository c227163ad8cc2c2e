"""The live link: clients connect to a gateway, which relays them to the right cluster."""
