#!/usr/bin/env bash
# The C tests under AddressSanitizer and UndefinedBehaviorSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-2}
cmake -S . -B build/sanitize -G Ninja -DSTRETTO_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
# Only what ctest runs: the preloaded libraries cannot carry a sanitizer into a foreign program.
cmake --build build/sanitize -j "$jobs" --target stretto-tests -- --quiet
ctest --test-dir build/sanitize -j "$jobs" --output-on-failure --no-tests=error -LE long
