#!/usr/bin/env bash
# Installs each wheel of dist/ into a root directory of another Debian release, and uses it there:
# x86-64 by chroot, aarch64 by chroot and qemu-aarch64-static, with nothing but Python in it.
#
#   tools/test_wheels.sh [RELEASE]      default: trixie
#
# Needs root and Debian's debootstrap and qemu-user-static. The roots are kept in build/roots.
set -euo pipefail
cd "$(dirname "$0")/.."
release=${1:-trixie}
roots=$PWD/build/roots
# shellcheck disable=SC2016 # apt fills it in
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
mkdir -p "$roots"

check() { # MACHINE, DEBIAN'S NAME OF IT, emulator
    local machine=$1 root=$roots/$release-$2 emulator=${3:-} version name own library
    local python=(env -i PATH=/usr/sbin:/usr/bin:/bin HOME=/root chroot "$root" ${emulator:+"$emulator"} /usr/bin/python3)
    name=$(echo dist/stretto-*_"$machine".whl)
    [ -e "$name" ] || return 0
    if [ ! -e "$root/.complete" ]; then
        rm -rf "$root"
        # Unpacked only: scripts of packages would need an emulator that the kernel starts.
        debootstrap --foreign --variant=minbase --arch="$2" --include=python3 "$release" "$root" "$mirror" >/dev/null
        for package in "$root"/var/cache/apt/archives/*.deb; do dpkg -x "$package" "$root"; done
        [ -z "$emulator" ] || cp "/usr/bin/${emulator##*/}" "$root/usr/bin/"
        touch "$root/.complete"
    fi
    version=$("${python[@]}" -c 'import sys; print("%d%d" % sys.version_info[:2])')
    rm -rf "$root/stretto"
    # pip of this machine unpacks; all else is done by the Python there
    own=${name##*-}
    python3 -m pip --disable-pip-version-check -q install --target "$root/stretto" --only-binary=:all: \
        --python-version "$version" --platform "${own%.whl}" --platform "manylinux_2_28_$machine" \
        --platform "manylinux_2_17_$machine" --platform "manylinux2014_$machine" "$name"
    echo "$(basename "$name") on $release ($machine), Python $version, $(du -sh "$root/stretto" | cut -f1) installed"
    local use=("${python[@]}" -c 'import sys; sys.path.insert(0, "/stretto"); sys.argv[0] = "stretto"; from stretto.cli import main; sys.exit(main())')
    "${use[@]}" --version
    "${use[@]}" plan verify allreduce shm+rabenseifner --layout 2x4
    "${use[@]}" check --json >"$root/check.json" || [ -s "$root/check.json" ]
    for library in "$root"/stretto/stretto/lib/*.so; do # one a process, as in a job
        "${python[@]}" -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "${library#"$root"}"
    done
    # without an MPI the measuring program names what is missing
    chroot "$root" ${emulator:+"$emulator"} /stretto/stretto/lib/stretto-bench-openmpi 2>&1 | grep -m1 stretto || true
}

check x86_64 amd64
check aarch64 arm64 /usr/bin/qemu-aarch64-static
