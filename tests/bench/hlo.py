"""Counts the floating-point operations of a program from the text of its HLO: each dot and convolution."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

_INSTRUCTION = re.compile(r"^\s*(ROOT )?%?([\w.-]+) = (.*?) ([\w-]+)\((.*?)\)(.*)$")
_NAME = re.compile(r"[\w.-]+")
_SHAPE = re.compile(r"\w+\[([\d,]*)\]\S*")


class _Product(NamedTuple):
    kind: str
    output: list[int]
    operands: list[list[int]]
    attributes: str


def hlo_flops(text: str) -> int:
    """Operations, two for each multiply-add, of dots and convolutions whose result is used; a loop's body counts once.

    Multiplications by the zeros that pad or dilate a convolution are none.
    """
    return sum(2 * _multiply_adds(one) for one in _products(text))


def _products(text: str) -> list[_Product]:
    """The dots and convolutions whose result another instruction uses."""
    shapes: dict[str, list[int]] = {}
    found, used = {}, set()
    for line in text.splitlines():
        if not (match := _INSTRUCTION.match(line)):
            continue
        is_root, name, shape, kind, inside, attributes = match.groups()
        operands = _NAME.findall(_SHAPE.sub("", inside))
        used.update(operands, [name] if is_root else [])
        if dimensions := _SHAPE.fullmatch(shape):
            shapes[name] = [int(one) for one in dimensions[1].split(",") if one]
        if kind in ("dot", "convolution"):
            found[name] = _Product(kind, shapes[name], [shapes[one] for one in operands], attributes)
    return [product for name, product in found.items() if name in used]


def _multiply_adds(product: _Product) -> int:
    left, right = product.operands
    if product.kind == "dot":
        contracted = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", product.attributes)[1]
        return math.prod(product.output) * math.prod(left[int(one)] for one in contracted.split(",") if one)
    before, kernel, after = re.search(r"dim_labels=(\w+)_(\w+)->(\w+)", product.attributes).groups()
    window = dict(re.findall(r"(\w+)=([\dx_-]+)", re.search(r"window=\{(.*?)\}", product.attributes)[1]))
    spatial = [label for label in kernel if label.isdigit()]
    taps = 1
    for number, label in enumerate(spatial):
        here = {name: value.split("x")[number] for name, value in window.items()}
        taps *= _taps(
            left[before.index(label)], right[kernel.index(label)], product.output[after.index(label)], window=here
        )
    batch_and_features = math.prod(product.output[after.index(label)] for label in "bf")
    return taps * batch_and_features * right[kernel.index("i")]


def _taps(size: int, kernel: int, outputs: int, *, window: dict[str, str]) -> int:
    """Number of pairs of output position and kernel position that read a value of the input."""
    stride, spread, gap = (int(window.get(name, 1)) for name in ("stride", "lhs_dilate", "rhs_dilate"))
    low = int(window.get("pad", "0_0").split("_")[0])
    places = (at * stride + tap * gap - low for at in range(outputs) for tap in range(kernel))
    return sum(0 <= place <= (size - 1) * spread and place % spread == 0 for place in places)
