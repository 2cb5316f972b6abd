"""What says that a profile lacks the calls that matter: then there is no verdict."""

from __future__ import annotations

from stretto.files.profile import Profile
from stretto.profile.show import tools_note


def withheld(profile: Profile) -> str | None:
    """Return why nothing is known about tuning, None where the profile shows the run."""
    why = tools_note(profile)
    if why is not None:
        why += "; run without it (LD_PRELOAD, -l)"
    elif not any(any(c.calls) for c in profile.calls):
        why = "no MPI call was recorded"
    elif len(profile.cut_short) == profile.nranks:
        why = "no rank was recorded to its MPI_Finalize"
    else:
        return None
    return f"whether tuning can help is not known, because {why}"
