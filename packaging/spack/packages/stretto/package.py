# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Stretto(PythonPackage):
    """Stretto makes MPI collectives fast in applications that cannot be changed: it measures the
    algorithms of the MPI and its own, applies the fastest with LD_PRELOAD, and tests the gain."""

    homepage = "https://example.org/stretto"
    url = "https://example.org/stretto/stretto-0.1.0.tar.gz"

    license("BSD-3-Clause", checked_by="stretto")

    version("0.1.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    variant("report", default=True, description="Pages and pictures")
    variant("fit", default=False, description="Fitting platforms for simulation")

    # It is preloaded into the MPI of each job: no MPI is linked, and none is needed to build.
    depends_on("c", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-scikit-build-core@0.11:", type="build")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-typer@0.12:", type=("build", "run"))
    depends_on("py-rich@13.7:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-threadpoolctl@3.2:", type=("build", "run"))
    depends_on("py-tomli@2:", type=("build", "run"), when="^python@:3.10")
    depends_on("py-altair@5.4:", type=("build", "run"), when="+report")
    depends_on("py-vl-convert-python@1.7:", type=("build", "run"), when="+report")
    depends_on("py-jinja2@3.1:", type=("build", "run"), when="+report")
    depends_on("py-scipy@1.11:", type=("build", "run"), when="+fit")

    conflicts("platform=darwin", msg="Stretto needs Linux")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_plans(self):
        stretto = Executable(join_path(self.prefix.bin, "stretto"))
        stretto("plan", "verify", "allreduce", "ring", "-n", "8")
