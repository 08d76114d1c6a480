"""One session's log as its writer sees it: append through the gate and the door, then tell the listeners.

A contract for now filled in by its owner; see the docstrings.
"""
