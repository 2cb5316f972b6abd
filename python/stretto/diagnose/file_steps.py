"""What to change where files are read or written: by the file, its library and file system."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

from stretto.files.profile import Call, FileUse, Profile

HDF5 = (".h5", ".hdf5", ".he5", ".hdf", ".nxs")
NETCDF = (".nc", ".nc4", ".cdf", ".netcdf")
#: files of WRF, and the setting of namelist.input that selects their library
WRF = (
    (re.compile(r"wrfout_d\d\d"), "io_form_history"),
    (re.compile(r"wrfrst_d\d\d"), "io_form_restart"),
    (re.compile(r"wrfinput_d\d\d"), "io_form_input"),
    (re.compile(r"wrfbdy_d\d\d"), "io_form_boundary"),
)
#: stripes of a shared file on Lustre from so many bytes on (docs.nersc.gov, striping); below: one
STRIPES = ((100 << 30, 72), (10 << 30, 24), (1 << 30, 8))
#: files that a program is made of: no MPI-IO can read them
PROGRAM = (".py", ".pyc", ".so")
PROGRAM_ADVICE = (
    "keep these modules and libraries of the program on the disk or in the memory of each node: "
    "unpack them to /tmp at the start of the job, or use a container or squashfs image"
)


def function_of(call: Call) -> str:
    """Return the function of MPI-IO that was called or waited for; empty: another function."""
    name = (call.detail if call.kind == "wait" else call.function) or ""
    return name if name.startswith("MPI_File_") else ""


def is_program(use: FileUse) -> bool:
    """Return whether the file is code that Python or the dynamic linker loads."""
    name = PurePosixPath(use.path).name.lower()
    return name.endswith(PROGRAM) or ".so." in name


def data_path(use: FileUse) -> bool:
    return known_path(use) and not is_program(use)


def known_path(use: FileUse) -> bool:
    """Return whether the path can be typed: whole, and of a file that is still there."""
    return use.path.startswith("/") and not use.path.endswith(" (deleted)")


def read_steps(profile: Profile, use: FileUse, shared: bool) -> list[str]:
    """Return what to change where `use` is read; `shared`: several ranks read the same bytes."""
    steps = []
    if shared and not use.mpi_io:
        name = PurePosixPath(use.path).name
        steps = [
            f"in the source: read {name} on rank 0, then MPI_Bcast(buffer, n, MPI_BYTE, 0, comm)"
        ]
    return steps + _parallel_steps(profile, use, "read") + _stripe_steps(use, written=False)


def write_steps(profile: Profile, use: FileUse) -> list[str]:
    return _parallel_steps(profile, use, "write") + _stripe_steps(use, written=True)


def _parallel_steps(profile: Profile, use: FileUse, word: str) -> list[str]:
    """Return how to read or write in parallel: by the file's library, or by MPI-IO."""
    if wrf := _wrf_steps(use, word):
        return wrf + (_hint_steps(profile, word) if use.mpi_io else [])
    library = _library_steps(use)
    if use.mpi_io:
        own = [] if library else _collective_steps(profile, word)
        return library + own + _hint_steps(profile, word)
    return library or [
        f"in the source: MPI_File_open for {PurePosixPath(use.path).name}, MPI_File_{word}_at_all "
        f'for the part of each rank, hint "romio_cb_{word}" = "enable"'
    ]


def _wrf_steps(use: FileUse, word: str) -> list[str]:
    """Return the lines of namelist.input that change how WRF reads or writes this file."""
    name = PurePosixPath(use.path).name
    form = next((form for pattern, form in WRF if pattern.match(name)), None)
    if form is None:
        return []
    steps = []
    if not use.mpi_io:
        steps.append(
            f"namelist.input of WRF: {form} = 11 (every rank its part, by PnetCDF; WRF must be "
            "compiled with PNETCDF set)"
        )
    if word == "write":
        steps.append(
            "or ranks that only write: &namelist_quilt nio_tasks_per_group = 1, nio_groups = 1, "
            "and one more rank"
        )
    return steps


def _library_steps(use: FileUse) -> list[str]:
    suffix = PurePosixPath(use.path).suffix.lower()
    if suffix not in HDF5 + NETCDF:
        return []
    if suffix in HDF5:
        opened = "HDF5: open with H5Pset_fapl_mpio and H5Pset_all_coll_metadata_ops(fapl, 1)"
        moved = "transfer with H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE)"
        python = ' (h5py: driver="mpio", comm=comm)'
    else:
        opened = "netCDF: open with nc_open_par"
        moved = "access variables with nc_var_par_access(id, variable, NC_COLLECTIVE)"
        python = (
            " (Fortran: nf90_open with comm=, info=; Python: netCDF4 with parallel=True, comm=comm)"
        )
    if use.mpi_io:  # it is open for parallel access already
        return [f"{opened.partition(':')[0]}: {moved}"]
    steps = [f"{opened}{python}; {moved}"]
    if len(use.ranks) > 1:
        steps.append(
            "export HDF5_USE_FILE_LOCKING=FALSE, if every open waits for a lock of the file "
            "system and no program writes to the file"
        )
    return steps


def _collective_steps(profile: Profile, word: str) -> list[str]:
    """Return the collective function to take, where most time is in those of single ranks."""
    alone: dict[str, float] = {}
    together = 0.0
    for call in profile.calls:
        name = function_of(call)
        if word not in name:
            continue
        if "_all" in name or "_ordered" in name:
            together += sum(call.time_s)
        else:
            alone[name] = alone.get(name, 0.0) + sum(call.time_s)
    if not alone or sum(alone.values()) <= together:
        return []
    most = max(alone, key=lambda name: alone[name])
    at = "_at" if "_at" in most else ""
    return [f"in the source: MPI_File_{word}{at}_all instead of {most}"]


def _hint_steps(profile: Profile, word: str) -> list[str]:
    """Return how collective buffering is switched on without a change of the source."""
    hints = f"printf 'romio_cb_{word} enable\\n' > hints"
    variables = "ROMIO_HINTS=$PWD/hints"
    if profile.mpi.family == "openmpi":  # its OMPIO has no such hint
        component = "romio321" if profile.mpi.version.startswith("4.") else "romio341"
        variables = f"OMPI_MCA_io={component} {variables}"
    return [f"collective buffering without changing the program: {hints}; export {variables}"]


def _stripe_steps(use: FileUse, written: bool) -> list[str]:
    if use.system != "lustre" or not known_path(use):
        return []
    path, folder = shlex.quote(use.path), shlex.quote(str(PurePosixPath(use.path).parent))
    size = max(use.size, sum(use.written_bytes))  # `size` is that before the run wrote to it
    count = next((n for bytes_, n in STRIPES if size >= bytes_), 1)
    steps = [f"lfs getstripe {path} shows its stripes; a shared file of this size needs {count}"]
    if count > 1 and written:
        steps.append(f"lfs setstripe -c {count} {folder} before the run, for new files there")
    elif count > 1:
        new = shlex.quote(use.path + ".new")
        steps.append(f"lfs setstripe -c {count} {new} && cp {path} {new} && mv {new} {path}")
    return steps
