#!/usr/bin/env bash
# Unpacks headers and libraries of an old glibc into DIR/amd64 and DIR/arm64: what is linked against
# them runs on every distribution since. Debian 11 has glibc 2.31; nothing is installed.
#
#   tools/old_glibc.sh DIR
set -euo pipefail
mkdir -p "$1"
dir=$(cd "$1" && pwd)
suite=bullseye
# shellcheck disable=SC2016 # apt fills it in
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
for arch in amd64 arm64; do
    [ ! -e "$dir/$arch/.complete" ] || continue
    work=$dir/$arch.apt
    rm -rf "$work" "${dir:?}/$arch"
    mkdir -p "$work"/{lists/partial,cache/archives/partial,etc/apt.conf.d,state} "$dir/$arch"
    echo "deb [arch=$arch signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/etc/sources.list"
    : >"$work/status"
    apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/etc/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o "Dir::State::status=$work/status"
        -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o APT::Sandbox::User=root
        -o Acquire::Languages=none)
    "${apt[@]}" update >"$work/log"
    (cd "$work" && "${apt[@]}" download libc6 libc6-dev linux-libc-dev >>log)
    for package in "$work"/*.deb; do dpkg -x "$package" "$dir/$arch"; done
    # libc.so is a text with the paths of a system, which the linker looks up below the root; of links
    # it does not know that
    find "$dir/$arch" -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link target; do
        ln -sfn "$dir/$arch$target" "$link"
    done
    rm -rf "$work"
    touch "$dir/$arch/.complete"
done
