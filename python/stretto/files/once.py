"""Files that one of several processes makes, with all of their contents at once."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from pathlib import Path

from stretto.errors import from_oserror


def write_once(path: Path, text: str, what: str, whole: bool = False) -> bool:
    """Make a file with all of its contents at once; False when there is one already.

    Linking is atomic on every version of NFS, and its reply may be lost though it was done: the
    count of links tells. Without links exclusive creation does it; `whole`: renaming, of which
    nobody reads a part, and of two in the same moment the later one's stays.
    """
    holder = f"{os.uname().nodename}.{os.getpid()}.{threading.get_ident()}"
    temporary = path.with_name(f".{path.name}.{holder}")
    try:
        temporary.unlink(missing_ok=True)  # of a process that was killed, and had this number
        with temporary.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return temporary.stat().st_nlink == 2
        except OSError as error:
            if temporary.stat().st_nlink == 2:
                return True
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS):
                raise
            return _rename(temporary, path) if whole else _create(path, text)
        return True
    except OSError as error:
        raise from_oserror(error, f"cannot write {what}", path) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _create(path: Path, text: str) -> bool:
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        return False
    return True


def _rename(temporary: Path, path: Path) -> bool:
    if path.exists():
        return False
    temporary.replace(path)
    return True
