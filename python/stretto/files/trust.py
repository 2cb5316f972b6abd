"""Whether a file that was found, and not named by the user, is the user's own."""

from __future__ import annotations

import os
import stat

from stretto.light import TYPE_CHECKING, later
from stretto.paths import Path

if TYPE_CHECKING:
    import grp
    import pwd
else:
    grp, pwd = later("grp"), later("pwd")


def distrust(path: Path) -> str | None:
    """Return why a file that was found must not be applied unasked; None: nothing speaks against.

    It, its directory, and links to both belong to the user or to root, and nobody else can write
    them. A group of the user's own name with nobody else in it is the user alone, which is what
    many systems give each user.
    """
    for place in (path.parent, path):
        try:
            found = [place.lstat(), place.stat()]
        except OSError as error:
            return f"{place} cannot be checked: {error.strerror}"
        for one in found:
            if one.st_uid not in (os.geteuid(), 0):
                return f"{place} belongs to {_user(one.st_uid)}"
        mode = found[1].st_mode
        sticky = stat.S_ISDIR(mode) and mode & stat.S_ISVTX  # what others make there is theirs
        group = mode & stat.S_IWGRP and not _alone(found[1].st_gid)
        if not sticky and (group or mode & stat.S_IWOTH):
            return f"others may write {place} (mode {stat.S_IMODE(mode):04o}; chmod go-w)"
    return None


def _alone(gid: int) -> bool:
    """Tell whether a group is this user's private one."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    mine = user.pw_gid == gid and group.gr_name == user.pw_name
    return mine and set(group.gr_mem) <= {user.pw_name}


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
