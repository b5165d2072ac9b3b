"""The commands of `sopbench`, each in a module of its own.

A module imports what a command needs when the command runs, so that `sopbench --help` is quick.
"""
