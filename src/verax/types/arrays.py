"""Array types; a docstring next to each use states the shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]


BoolArray = NDArray[np.bool_]


IntArray = NDArray[np.integer]
