"""Numbers as text, for pages and the terminal."""

from __future__ import annotations


def format_number(value: float, *, digits: int = 3) -> str:
    """Round to `digits` significant digits, or to a whole number from 1,000 on: 0.4, −23.5, 10,900."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
    return text.replace("-", "−")


def format_signed(value: float) -> str:
    """Format a difference with its sign: +3, −0.25."""
    return f"+{format_number(value)}" if value > 0 else format_number(value)


def format_percent(fraction: float, *, digits: int = 1) -> str:
    """Format a fraction of 1 as a percentage: 0.5 is `50.0 %`."""
    return f"{100 * fraction:.{digits}f}\u202f%" if fraction else "0\u202f%"
