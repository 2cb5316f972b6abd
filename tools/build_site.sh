#!/usr/bin/env bash
# Builds the documentation into build/site; prints only what is wrong with it, links and anchors included.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
log=$("${VENV:-.venv}/bin/mkdocs" build --strict 2>&1) && exit 0
grep -v '^INFO' <<<"$log" >&2
exit 1
