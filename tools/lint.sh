#!/usr/bin/env bash
# Every check of style and types, with the versions that pyproject.toml fixes. --fix rewrites what
# can be rewritten. All checks run; the exit code is 1 when any of them failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
bin=${VENV:-.venv}/bin
fix=${1:-}
failed=0

check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@"; then
        echo "lint: $name ok"
    else
        echo "lint: $name FAILED" >&2
        failed=1
    fi
}

mapfile -t c_files < <(git ls-files --cached --others --exclude-standard \
    'src/*.[ch]' 'serial/*.[ch]' 'include/*.h' 'tests/*.[ch]' 'examples/*.[ch]' 'bench/*.[ch]')
mapfile -t shell_files < <(git ls-files --cached --others --exclude-standard '*.sh' .ci/run tools/testbed/agent)
mapfile -t python_dirs < <(for d in python tests serial examples tools bench; do [ -d "$d" ] && echo "$d"; done)

# Inside the library only PMPI_* is called: an MPI_* call would come back to us, or miss a tool.
# shellcheck disable=SC2329 # called through check
no_bare_mpi_calls() {
    ! git grep --untracked -nE '(^|[^A-Za-z_"P])MPI_[A-Z][a-z_]+[a-z] *\(' -- \
        src/plan src/coll src/node src/engine | grep -vE ':[0-9]+: *(/?\*|//)'
}
# Registry addresses are a matter of each machine's pip.conf, never of a file here.
# shellcheck disable=SC2329
no_registry_hosts() {
    ! git grep --untracked -nIE 'https?://[a-z.]*(pypi\.org|pythonhosted\.org|deb\.debian\.org)' -- . ':!tools/lint.sh'
}

if [ "$fix" = --fix ]; then
    "$bin/clang-format" -i "${c_files[@]}"
    "$bin/ruff" check -q --no-cache --fix "${python_dirs[@]}"
    "$bin/ruff" format -q "${python_dirs[@]}"
fi
[ ${#c_files[@]} -eq 0 ] || check clang-format "$bin/clang-format" --dry-run -Werror "${c_files[@]}"
check "ruff check" "$bin/ruff" check -q --no-cache "${python_dirs[@]}"
check "ruff format" "$bin/ruff" format -q --no-cache --check "${python_dirs[@]}"
check mypy "$bin/mypy" --no-error-summary
check import-linter env PYTHONPATH=python "$bin/lint-imports" --no-cache --no-logo
check weight "$bin/python" tools/weight.py --check
check "environment page" "$bin/python" tools/make_environment_doc.py --check
check "command pages" "$bin/python" tools/make_cli_doc.py --check
check "notebook page" "$bin/python" tools/make_notebook.py --check
check "site and its links" bash tools/build_site.sh
check "text of the docs" "$bin/python" tools/check_docs.py
check codespell "$bin/codespell"
check shellcheck "$bin/shellcheck" "${shell_files[@]}"
check "only PMPI_* inside" no_bare_mpi_calls
check "no registry hosts" no_registry_hosts
exit $failed
