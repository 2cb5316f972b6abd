"""The testbed from the command line: python3 tools/testbed up|down|list|exec|env|launch."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import cluster as testbed
import slurm
from launchers import environment, exports, launch


def main() -> int:
    """Carry out one command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python3 tools/testbed", description=testbed.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start a cluster and print its name")
    up.add_argument("--nodes", type=int, default=4)
    up.add_argument("--name")
    up.add_argument("--bandwidth", help="cap of each link of a node, each way (1gbit)")
    up.add_argument("--rails", type=int, default=1, help="networks: eth0, eth1, ... (1)")
    up.add_argument("--share", type=Path, action="append", default=[], help="path under /tmp")
    up.add_argument("--slurm", action="store_true", help="Slurm on it (slurm-wlm, munge)")
    up.add_argument("--cpus", type=int, default=2, help="cores a node claims to Slurm (2)")
    down = commands.add_parser("down", help="take a cluster down, or --all")
    down.add_argument("name", nargs="?")
    down.add_argument("--all", action="store_true")
    commands.add_parser("list", help="what is up")
    execute = commands.add_parser("exec", help="run a command on one node: exec NODE -- COMMAND")
    execute.add_argument("node")
    run = commands.add_parser("launch", help="run an MPI program: launch NAME ... -- PROGRAM")
    run.add_argument("name")
    run.add_argument("--mpi", required=True, help="openmpi4, openmpi5, mpich or intel")
    run.add_argument("--prefix", type=Path, help="where that MPI is (default: /usr)")
    run.add_argument("--ppn", type=int, default=2)
    run.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    show = commands.add_parser("env", help="print what an MPI's own mpirun needs: eval it")
    show.add_argument("name")
    show.add_argument("--mpi", help="openmpi4, openmpi5, mpich or intel (none: Slurm alone)")
    show.add_argument("--prefix", type=Path, help="where that MPI is (default: /usr)")
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    own, argv = words[:split], words[split + 1 :]
    args = parser.parse_args(own)

    if args.command == "up":
        repository = Path(__file__).resolve().parents[2]
        for path in args.share:
            if not path.exists():
                raise testbed.TestbedError(f"--share: there is no {path}")
        share = [repository, *args.share]
        if args.slurm:
            slurm.need_packages()
        then = (lambda made: slurm.start(made, args.cpus)) if args.slurm else None
        made = testbed.up(
            args.nodes,
            name=args.name,
            bandwidth=args.bandwidth,
            share=share,
            rails=args.rails,
            then=then,
        )
        print(made.name)
    elif args.command == "down":
        if bool(args.name) == args.all:
            parser.error("give a name or --all")
        testbed.need_root()
        names = [args.name]
        if args.all:
            names = [*(instance.name for instance in testbed.instances()), *testbed.damaged()]
        problems = []
        for name in names:
            try:
                testbed.take_down(name)
            except testbed.TestbedError as error:  # the others go all the same
                problems.append(str(error))
        if problems:
            raise testbed.TestbedError("; ".join(problems))
    elif args.command == "list":
        for instance in testbed.instances():
            names = (n.name if n.up else f"{n.name} (down)" for n in instance.nodes)
            print(instance.name, instance.bridge_address, *names)
        for name, reason in testbed.damaged().items():
            print(f"{name} (damaged, or of another version: {reason}; down {name} ends it)")
    elif args.command == "env":
        instance = testbed.find(args.name)
        variables = slurm.variables(instance)
        if args.mpi:
            variables |= environment(instance, args.mpi, prefix=args.prefix)
        print("\n".join(exports(variables, args.prefix)))
    else:
        if not argv:
            parser.error("give a command after --")
        if args.command == "exec":
            for instance in testbed.instances():
                for node in instance.nodes:
                    if node.name == args.node:
                        words = instance.command(node, argv, Path.cwd())
                        return subprocess.call(words, env=os.environ | slurm.variables(instance))
            raise testbed.TestbedError(f"no node {args.node!r} is up")
        instance = testbed.find(args.name)
        pairs = dict(pair.partition("=")[::2] for pair in args.env)
        words, env = launch(instance, args.mpi, args.ppn, argv, prefix=args.prefix, env=pairs)
        return subprocess.call(words, env=env | {"STRETTO_TESTBED_CWD": str(Path.cwd())})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except testbed.TestbedError as error:
        print(f"testbed: error: {error}", file=sys.stderr)
        sys.exit(1)
