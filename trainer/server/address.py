"""The address of the server; needs no TensorFlow, so that an address in use is reported before a model is loaded."""

from __future__ import annotations

import ipaddress
import socket

from shared.errors import UserError


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at an address, so that no other process can take it; port 0 is any free port.

    Raises:
        UserError: the address is in use, or not one of this machine.
    """
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen()
    except OSError as error:
        bound.close()
        raise UserError(f"{host}:{port}: {error.strerror}; expected a free port of this machine") from error
    return bound


def is_loopback(host: str) -> bool:
    """True if only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
