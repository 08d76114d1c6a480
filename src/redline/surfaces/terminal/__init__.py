"""The terminal: cards, prompts and the pipe form.

Two rules keep what is drawn trustworthy. Every text that comes from a model, a file, an agent or a path goes through
`visible`, so that it cannot move the cursor or hide. And only Redline writes in the first column: file text stands
behind the bar of its card, prose is indented, so that nothing can imitate a card or a prompt.
"""

from redline.surfaces.terminal.pipe import PipeSurface
from redline.surfaces.terminal.rows import render_row
from redline.surfaces.terminal.terminal import TerminalSurface

__all__ = ["PipeSurface", "TerminalSurface", "render_row"]
