#!/usr/bin/env bash
# Installs Stretto for all users of a site, or into a package's tree:
#
#   tools/install.sh                               into /opt/stretto/VERSION
#   PREFIX=/usr DESTDIR=debian/stretto tools/install.sh
#
# WHEEL (default: built from this tree), EXTRAS (default: report), PYTHON (default: python3, which every
# node must have). Writes bin/stretto with a Python environment of its own, man pages, completions and a
# module file for Lmod. Nothing outside of DESTDIR and PREFIX is touched.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
prefix=${PREFIX:-/opt/stretto/$version}
destdir=${DESTDIR:-}
extras=${EXTRAS-report}
wheel=${WHEEL:-}
case $prefix in
/*) ;;
*) echo "install.sh: PREFIX=$prefix is not an absolute path" >&2 && exit 2 ;;
esac
pip=("$python" -m pip --disable-pip-version-check -q)
if [ -z "$wheel" ]; then
    rm -rf build/install-wheel
    "${pip[@]}" wheel --no-deps -w build/install-wheel .
    wheel=$(echo build/install-wheel/stretto-*.whl)
fi

# An environment of its own: what it brings along is seen by no Python of a user.
home=$prefix/lib/stretto
"$python" -m venv --clear "$destdir$home"
"$destdir$home/bin/python" -m pip --disable-pip-version-check -q install "$wheel${extras:+[$extras]}"
if [ -n "$destdir" ]; then # scripts hold the path of the build
    grep -rlIZ -- "$destdir$home" "$destdir$home/bin" "$destdir$home/pyvenv.cfg" |
        xargs -0r sed -i "s|$destdir$home|$home|g"
fi
mkdir -p "$destdir$prefix/bin"
ln -sfn ../lib/stretto/bin/stretto "$destdir$prefix/bin/stretto"

share=$destdir$prefix/share
run() { "$destdir$home/bin/python" "$@"; }
run tools/make_man.py "$share/man/man1"
gzip -9nf "$share"/man/man1/stretto*.1
mkdir -p "$share"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,doc/stretto}
run -m stretto completion bash >"$share/bash-completion/completions/stretto"
run -m stretto completion zsh >"$share/zsh/site-functions/_stretto"
run -m stretto completion fish >"$share/fish/vendor_completions.d/stretto.fish"
cp LICENSE README.md CITATION.cff SECURITY.md "$share/doc/stretto/"
mkdir -p "$share/modulefiles/stretto"
sed -e "s|@PREFIX@|$prefix|g" -e "s|@VERSION@|$version|g" packaging/stretto.lua >"$share/modulefiles/stretto/$version.lua"
echo "stretto $version is in $destdir$prefix; module use $prefix/share/modulefiles"
