"""What says that a profile may lack the calls that matter: then there is no verdict."""

from __future__ import annotations

from pathlib import Path

from stretto.files.profile import Profile


def withheld(profile: Profile) -> str | None:
    """Return why nothing can be said about tuning, None where the profile shows the run.

    Parameters
    ----------
    profile
        The run.
    """
    if profile.tools:
        names = ", ".join(Path(tool).name for tool in profile.tools)
        verb = "takes" if len(profile.tools) == 1 else "take"
        why = f"{names} {verb} MPI calls before Stretto sees them; run without (LD_PRELOAD, -l)"
    elif not any(any(c.calls) for c in profile.calls):
        why = "no MPI call was recorded"
    elif len(profile.cut_short) == profile.nranks:
        why = "no rank was recorded to its MPI_Finalize"
    else:
        return None
    return f"whether tuning can help is not known, because {why}"
