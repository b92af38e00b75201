"""What a user did wrong, said in one line; the command lines turn it into exit code 2."""

from __future__ import annotations


class UserError(Exception):
    """A mistake that the user can mend: what, where, what was wanted, what to do next, in one line."""
