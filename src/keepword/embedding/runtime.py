"""onnxruntime without its telemetry: it sends events to its maker, from its import on, unless a variable forbids it."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is imported

import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

__all__ = ["Fail", "ort"]
