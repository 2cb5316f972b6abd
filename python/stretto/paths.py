"""`Path`: that of `pathlib`, or where ``stretto run`` starts a job, one that loads at once.

`pathlib` loads `re`, `functools`, `urllib` and more, which take longer than all that ``stretto
run`` does. What `Quick` does not have itself, it takes from `pathlib`.
"""

from __future__ import annotations

import errno
import os
import sys
from stat import S_ISDIR, S_ISLNK, S_ISREG

from stretto import light

if light.TYPE_CHECKING:
    from pathlib import Path
    from typing import IO, Any

__all__ = ["Path", "Quick"]

#: what a name that leads nowhere gives
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)


class Quick(str):
    """A path as text, with the methods of `pathlib.Path` that ``stretto run`` needs."""

    __slots__ = ()

    def __new__(cls, *parts: str | os.PathLike[str]) -> Quick:
        text = os.path.join(*parts) if parts else ""  # noqa: PTH118
        root = "" if text[:1] != "/" else "//" if text[:2] == "//" and text[2:3] != "/" else "/"
        names = [name for name in text.split("/") if name not in ("", ".")]
        return str.__new__(cls, root + "/".join(names) or ".")

    def __getattr__(self, name: str) -> Any:
        return getattr(light.later("pathlib").Path(str(self)), name)

    def __truediv__(self, other: str | os.PathLike[str]) -> Quick:
        return Quick(self, other)

    def __rtruediv__(self, other: str) -> Quick:
        return Quick(other, self)

    @staticmethod
    def cwd() -> Quick:
        return Quick(os.getcwd())  # noqa: PTH109

    @staticmethod
    def home() -> Quick:
        found = os.path.expanduser("~")  # noqa: PTH111
        if found == "~":
            raise RuntimeError("Could not determine home directory.")
        return Quick(found)

    @property
    def name(self) -> str:
        return "" if self in (".", "/", "//") else self.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        name = self.name
        at = name.rfind(".")
        return name[at:] if 0 < at < len(name) - 1 else ""

    @property
    def stem(self) -> str:
        return self.name.removesuffix(self.suffix)

    @property
    def parent(self) -> Quick:
        if self in (".", "/", "//"):
            return self
        head, slash, _ = self.rpartition("/")
        return Quick(head + slash if head in ("", "/") else head)

    @property
    def parents(self) -> tuple[Quick, ...]:
        above = self.parent
        return () if above == self else (above, *above.parents)

    def is_absolute(self) -> bool:
        return self.startswith("/")

    def as_posix(self) -> str:
        return str(self)

    def absolute(self) -> Quick:
        return self if self.is_absolute() else Quick(os.getcwd(), self)  # noqa: PTH109

    def resolve(self) -> Quick:
        return Quick(os.path.realpath(self))

    def readlink(self) -> Quick:
        return Quick(os.readlink(self))  # noqa: PTH115

    def stat(self) -> os.stat_result:
        return os.stat(self)  # noqa: PTH116

    def lstat(self) -> os.stat_result:
        return os.lstat(self)

    def _mode(self, follow: bool = True) -> int:
        try:
            return os.stat(self, follow_symlinks=follow).st_mode  # noqa: PTH116
        except OSError as error:
            if error.errno not in _ABSENT:
                raise
        except ValueError:  # a null character
            pass
        return 0

    def is_file(self) -> bool:
        return S_ISREG(self._mode())

    def is_dir(self) -> bool:
        return S_ISDIR(self._mode())

    def is_symlink(self) -> bool:
        return S_ISLNK(self._mode(follow=False))

    def open(self, mode: str = "r", **more: Any) -> IO[Any]:
        return open(self, mode, **more)  # noqa: PTH123

    def read_text(self, **more: Any) -> str:
        with self.open(**more) as stream:
            return str(stream.read())

    def replace(self, target: Any) -> Any:  # type: ignore[override]
        """Rename, which is what a path's method of this name does, and not text's."""
        os.replace(self, target)  # noqa: PTH105
        return Quick(target)


if not light.TYPE_CHECKING:
    if light.starting and "pathlib" not in sys.modules:
        Path = Quick
    else:
        from pathlib import Path
