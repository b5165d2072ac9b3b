"""The commands of `sopbench`; `cli.py` has the table of their modules.

A module imports what a command needs when the command runs, so that `sopbench --help` is quick.
"""
