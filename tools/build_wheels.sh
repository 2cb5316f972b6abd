#!/usr/bin/env bash
# Builds dist/*.whl for x86-64 and aarch64 on an x86-64 machine: one wheel each, for every Python, with
# the libraries for all three ABI families. They are linked against an old glibc (tools/old_glibc.sh), and
# run on systems that are older than this one; GLIBC=own takes this system's, which is faster (CI). The
# tag says which glibc is needed (auditwheel reads it from the symbols used). Wants the tools of the dev extra in PATH (make wheels), and for aarch64 Debian's
# gcc-aarch64-linux-gnu. Other machines build their own: pip wheel .
#
#   tools/build_wheels.sh [x86_64] [aarch64]
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$root/build/wheels
glibc=${GLIBC:-old}
rm -rf "$work/raw"
mkdir -p dist "$work/raw"

build() { # MACHINE, DEBIAN'S NAME OF IT, further cmake arguments
    local machine=$1 old=$work/glibc/$2 folder=$work/$1 wheel
    local include=$old/usr/include libraries=$old/usr/lib/$1-linux-gnu flags=()
    shift 2
    if [ "$glibc" = old ]; then
        flags=("CFLAGS=--sysroot=$old -isystem $include/$machine-linux-gnu -isystem $include"
            "LDFLAGS=--sysroot=$old -B$libraries -L$libraries -L$old/lib/$machine-linux-gnu")
    else
        folder=$folder-own
        [ "$machine" != x86_64 ] || folder=$root/build/wheel # the same as make install's
    fi
    echo "wheel for $machine"
    mkdir -p "$work/raw/$machine"
    env _PYTHON_HOST_PLATFORM="linux-$machine" CMAKE_ARGS="$*" "${flags[@]}" \
        python -m pip -q wheel . --no-deps --no-build-isolation \
        --config-settings build-dir="$folder" -w "$work/raw/$machine"
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
machines=${*:-x86_64 aarch64}
if [[ $machines == *aarch64* ]] && ! command -v aarch64-linux-gnu-gcc >/dev/null; then
    echo "build_wheels.sh: no aarch64 wheel: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross" >&2
    exit 1
fi
[ "$glibc" != old ] || bash tools/old_glibc.sh "$work/glibc"
[[ $machines != *x86_64* ]] || build x86_64 amd64
[[ $machines != *aarch64* ]] || build aarch64 arm64 --toolchain "$root/cmake/aarch64-linux-gnu.cmake"
ls -l dist/*.whl
