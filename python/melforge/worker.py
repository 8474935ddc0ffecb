"""Which of a loader's processes this is."""

from __future__ import annotations

import sys
from typing import Any, Optional


def current() -> Optional[Any]:
    """PyTorch's description of this worker of a loader; None in a process that is none."""
    torch_data = sys.modules.get("torch.utils.data")
    return torch_data.get_worker_info() if torch_data else None
