"""Salvage topics: records that only the losing cluster had, kept on the winning one."""
