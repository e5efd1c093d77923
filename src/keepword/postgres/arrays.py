"""numpy arrays from packed binary columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def array(packed: bytes | None, kind: str) -> NDArray[Any]:
    """Unpack numbers of one kind: the network's byte order in, the machine's out."""
    values = np.frombuffer(packed or b"", kind)
    return values.astype(values.dtype.newbyteorder("="))
