#!/usr/bin/env bash
# Makes Stretto usable on every node of an AWS ParallelCluster, from a directory that all nodes see:
#
#   HeadNode:
#     CustomActions:
#       OnNodeConfigured:
#         Script: s3://BUCKET/bootstrap.sh
#         Args: [s3://BUCKET/stretto-0.1.0-py3-none-manylinux_2_27_x86_64.whl, /shared/stretto]
#
# On the head node it installs; on compute nodes (give the same action to each queue) it only points the
# module path and the tables of the site to the shared directory. A second run changes nothing.
set -euo pipefail
wheel=${1:?"bootstrap.sh: the first argument is a wheel, an s3:// address or a path"}
base=${2:?"bootstrap.sh: the second argument is a directory that all nodes see, e.g. /shared/stretto"}
# shellcheck disable=SC1091 # it is on the nodes
[ ! -r /etc/parallelcluster/cfnconfig ] || . /etc/parallelcluster/cfnconfig

if [ "${cfn_node_type:-HeadNode}" = HeadNode ] && [ ! -x "$base/current/bin/stretto" ]; then
    python=$(command -v python3.12 || command -v python3.11 || command -v python3.10 || command -v python3)
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
        echo "bootstrap.sh: $python is older than 3.10: install python3.11" >&2
        exit 1
    }
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    case $wheel in
    s3://*) aws s3 cp --only-show-errors "$wheel" "$work/" ;;
    *) cp "$wheel" "$work/" ;;
    esac
    mkdir -p "$base/current/bin" "$base/tables"
    "$python" -m venv "$base/current/lib/stretto"
    "$base/current/lib/stretto/bin/python" -m pip -q install "$(echo "$work"/stretto-*.whl)[report]"
    ln -sfn ../lib/stretto/bin/stretto "$base/current/bin/stretto"
fi

cat >/etc/profile.d/stretto.sh <<END
export PATH="\$PATH:$base/current/bin"
export STRETTO_SITE_TABLES="$base/tables"
END
chmod 644 /etc/profile.d/stretto.sh
