"""What pip would install: a lock with hashes, and what it takes on disk.

    python wheels.py REPORT RESULT

REPORT is what `pip install --dry-run --report` wrote. RESULT gets one JSON object: `lock` (for pip's
--require-hashes), `packages`, `torch` and `python` (versions), `download_bytes`, `unpacked_bytes`. A
wheel is a zip, which lists its files at its end: only that is fetched, by ranges.
"""

from __future__ import annotations

import io
import json
import sys
import urllib.request
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_BLOCK = 4096  # of the disk


class _Remote(io.RawIOBase):
    """A file on a server that answers ranges."""

    def __init__(self, url: str) -> None:
        self._url = url
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:
            self.size = int(answer.headers["Content-Length"])
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self.size)
        if end <= self._at:
            return 0
        headers = {"Range": f"bytes={self._at}-{end - 1}"}
        with urllib.request.urlopen(urllib.request.Request(self._url, headers=headers)) as answer:
            if answer.status != 206:
                raise OSError(f"{self._url}: the server does not answer ranges")
            data = answer.read()
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def _sizes(url: str) -> tuple[int, int]:
    """Bytes of the wheel, and of what is unpacked of it with the bytecode that pip adds."""
    if url.startswith("file:"):
        path = Path(urllib.request.url2pathname(urlsplit(url).path))
        size, source = path.stat().st_size, path.open("rb")
    else:
        remote = _Remote(url)
        size, source = remote.size, io.BufferedReader(remote, 1 << 16)
    unpacked = 0
    with source, zipfile.ZipFile(source) as wheel:
        for file in wheel.infolist():
            blocks = -(-file.file_size // _BLOCK)
            unpacked += blocks * _BLOCK * (2 if file.filename.endswith(".py") else 1)
    return size, unpacked


def main(report: str, result: str) -> None:
    answer = json.loads(Path(report).read_text())
    lock, download, unpacked, versions = [], 0, 0, {}
    for package in answer["install"]:
        name, version = package["metadata"]["name"], package["metadata"]["version"]
        source = package["download_info"]
        versions[name] = version
        lock.append(f"{name}=={version} --hash=sha256:{source['archive_info']['hashes']['sha256']}\n")
        size, files = _sizes(source["url"])
        download, unpacked = download + size, unpacked + files
    found = {
        "lock": "".join(sorted(lock, key=str.lower)),
        "packages": len(lock),
        "torch": versions["torch"],
        "python": answer["environment"]["python_full_version"],
        "download_bytes": download,
        "unpacked_bytes": unpacked,
    }
    Path(result).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
