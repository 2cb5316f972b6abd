#!/usr/bin/env bash
# Builds dist/*.whl for x86-64 and aarch64 on an x86-64 machine: one wheel each, for every Python, with
# the libraries for all three ABI families. The tag says which glibc is needed (auditwheel reads it
# from the symbols used); a build on an older distribution gives a wheel that runs on older ones.
# Wants the tools of the dev extra in PATH (make wheels), and for aarch64 Debian's
# gcc-aarch64-linux-gnu libc6-dev-arm64-cross. Other machines build their own: pip wheel .
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$root/build/wheels
rm -rf "$work/raw"
mkdir -p dist "$work/raw"

build() { # MACHINE, BUILD FOLDER, further cmake arguments
    local machine=$1 folder=$2 wheel
    shift 2
    echo "wheel for $machine"
    mkdir -p "$work/raw/$machine"
    _PYTHON_HOST_PLATFORM=linux-$machine CMAKE_ARGS="$*" python -m pip -q wheel . --no-deps \
        --no-build-isolation --config-settings build-dir="$folder" -w "$work/raw/$machine"
    wheel=$(ls "$work/raw/$machine"/stretto-*.whl)
    case $wheel in
    *_"$machine".whl) ;;
    *) wheel=$work/raw/$machine/$(python -m wheel tags --remove --platform-tag "linux_$machine" "$wheel") ;;
    esac
    rm -f dist/stretto-*_"$machine".whl
    python -m auditwheel repair --plat auto -w dist "$wheel" >"$work/$machine.auditwheel.log" 2>&1 || {
        cat "$work/$machine.auditwheel.log" >&2
        exit 1
    }
}

if [ "$(uname -m)" != x86_64 ]; then
    echo "build_wheels.sh: cross-builds are set up for x86-64 machines; here: pip wheel ." >&2
    exit 1
fi
build x86_64 "$root/build/wheel" # the same as make install's
if command -v aarch64-linux-gnu-gcc >/dev/null; then
    build aarch64 "$work/aarch64" --toolchain "$root/cmake/aarch64-linux-gnu.cmake"
else
    echo "build_wheels.sh: no aarch64 wheel: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross" >&2
    exit 1
fi
ls -l dist/*.whl
