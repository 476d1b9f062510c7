"""Frames of the worker protocol (systems/PROTOCOL.md): a length, then one JSON object."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

LARGEST = 64 << 20  # bytes of JSON in one frame

Message = dict[str, Any]


class Channel:
    """One end of the stream to the supervisor. Shared with forked children, one writer at a time."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        self.send_text(json.dumps(message, separators=(",", ":")).encode(), descriptors)

    def send_text(self, text: bytes, descriptors: Sequence[int] = ()) -> None:
        if len(text) > LARGEST:
            raise ValueError(f"a frame of {len(text)} bytes; at most {LARGEST} are allowed")
        frame = struct.pack("<I", len(text)) + text
        if descriptors:  # they travel with the first byte
            sent = socket.send_fds(self._socket, [frame], list(descriptors))
            frame = frame[sent:]
        self._socket.sendall(frame)

    def receive(self) -> Message | None:
        """The next message; None once the supervisor has closed its end."""
        head = self._read(4)
        if head is None:
            return None
        (length,) = struct.unpack("<I", head)
        if length > LARGEST:
            raise ValueError(f"a frame of {length} bytes; at most {LARGEST} are allowed")
        text = self._read(length)
        if text is None:
            return None
        message = json.loads(text)
        if not isinstance(message, dict) or "type" not in message:
            raise ValueError("a frame that is not an object with a type")
        return message

    def _read(self, length: int) -> bytes | None:
        data = bytearray()
        while len(data) < length:
            piece = self._socket.recv(min(length - len(data), 1 << 20))
            if not piece:
                return None
            data += piece
        return bytes(data)
