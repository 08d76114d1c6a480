"""An agent that plays a recording once; to every further prompt it has nothing to say.

player.py FOLDER RECORDING    FOLDER holds `replay.py`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, sys.argv[1])

from replay import Replay


class Player(Replay):  # type: ignore[misc]  # it is found only at run time
    def play(self, prompt: Any) -> None:
        super().play(prompt)
        self.capture = {**self.capture, "frames": []}


if __name__ == "__main__":
    Player(json.loads(Path(sys.argv[2]).read_text()), 0).serve()
