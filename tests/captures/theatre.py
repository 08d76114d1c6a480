"""An agent that plays the recording that its workspace names: so one program in front of it can be given them all.

theatre.py FOLDER     FOLDER holds `replay.py`; the file `recording` beside the workspace holds the recording's path
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from replay import Replay

NOTHING = {"agent": "theatre", "version": "1", "load_session": True, "load": [], "frames": [], "after": {}}

if __name__ == "__main__":
    programme = Path.cwd().parent / "recording"
    Replay(json.loads(Path(programme.read_text()).read_text()) if programme.exists() else NOTHING, 0).serve()
