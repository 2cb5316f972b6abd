"""One agent a host: the program stretto-net, started by ssh, srun, a command or an MPI's launcher.

Agents are asked by lines on their standard input and answer with lines of JSON (src/net/main.c).
They end when their input does.
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stretto.built import net_program
from stretto.errors import StrettoError
from stretto.files.net import NetHost, RailBytes
from stretto.files.parse import json_value
from stretto.mpi.base import MPIInstallation

VERSION = 1
#: to start on all hosts; to answer a line that needs no network
START_S = 60.0
ANSWER_S = 10.0

#: turns a host and a program into what starts it there
Starter = Callable[[str, Sequence[str]], tuple[list[str], dict[str, str]]]
Message = dict[str, Any]

SSH = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"]
SRUN = ["srun", "--nodes=1", "--ntasks=1", "--overlap", "--mpi=none", "--export=ALL", "--quiet"]


def is_here(host: str) -> bool:
    mine = ("localhost", socket.gethostname().split(".")[0])
    return host.startswith("127.") or host.split(".")[0] in mine


def by_shell(words: Sequence[str]) -> Starter:
    """Return a starter for what takes a host and a command line, as ssh does."""

    def start(host: str, program: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        if is_here(host):
            return list(program), dict(os.environ)
        return [*words, host, shlex.join(program)], dict(os.environ)

    return start


def by_srun(host: str, program: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return what starts a program on a node of the Slurm allocation."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_STD", "SLURM_NT"))}
    return [*SRUN, f"--nodelist={host}", *program], environ


def by_mpi(installation: MPIInstallation) -> Starter:
    """Return a starter that has an MPI's launcher start one process on a host."""

    def start(host: str, program: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        return installation.launch(1, program, ppn=1, hosts=[host], bind="none")

    return start


@dataclass
class Agent:
    """The agent of a host. `lost` says why it has ended, None while it is there."""

    name: str
    process: subprocess.Popen[str]
    hello: Message | None = None
    host: NetHost | None = None
    port: int = 0
    lost: str | None = None
    stderr: str = ""

    def ask(self, line: str) -> None:
        """Send a line; that it does not arrive is noticed where the answer is awaited."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()


class Agents:
    """The agents of all hosts, ended at the end of the ``with`` block."""

    def __init__(self, hosts: Sequence[str], starter: Starter) -> None:
        self.starter = starter
        self.token = secrets.token_hex(16)
        self.messages: queue.SimpleQueue[tuple[Agent, Message | None]] = queue.SimpleQueue()
        self.by_name: dict[str, Agent] = {}
        self._hosts = hosts
        self._next_id = 0

    def __enter__(self) -> Agents:
        """Start them all, and wait until each has said what its host is."""
        try:
            for host in self._hosts:
                self.by_name[host] = self._start(host)
            self._wait(lambda agent: agent.hello is not None, START_S, "start")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _start(self, host: str) -> Agent:
        words, environ = self.starter(host, [str(net_program())])
        try:
            process = subprocess.Popen(
                words, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise StrettoError(
                f"{words[0]} cannot be started: {error.strerror}", host,
                "start agents another way: --agent CMD, --launcher ssh|srun|mpi",
            ) from error  # fmt: skip
        agent = Agent(host, process)
        for reader in (self._read, self._read_errors):
            threading.Thread(target=reader, args=(agent,), daemon=True).start()
        agent.ask(f"token {self.token}")
        return agent

    def _read(self, agent: Agent) -> None:
        assert agent.process.stdout is not None
        for line in agent.process.stdout:
            with contextlib.suppress(ValueError):  # a greeting of the host's shell
                message = json_value(line)
                if isinstance(message, dict) and "event" in message:
                    self.messages.put((agent, message))
        self.messages.put((agent, None))

    @staticmethod
    def _read_errors(agent: Agent) -> None:
        assert agent.process.stderr is not None
        for line in agent.process.stderr:
            agent.stderr = (agent.stderr + line)[-2000:]

    def take(self, limit_s: float) -> tuple[Agent, Message | None] | None:
        """Return the next message, None of an agent that has ended; or None after `limit_s`."""
        try:
            agent, message = self.messages.get(timeout=max(0.01, limit_s))
        except queue.Empty:
            return None
        if message is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                agent.process.wait(2)
            time.sleep(0.05)  # for what it has printed last
            said = [line for line in agent.stderr.splitlines() if line.strip()]
            code = agent.process.poll()
            agent.lost = said[-1].strip() if said else f"it ended with exit code {code}"
        elif message["event"] == "hello":
            agent.hello = message
        elif message["event"] == "listening":
            agent.port = int(message["port"])
        return agent, message

    def _wait(self, done: Callable[[Agent], bool], limit_s: float, doing: str) -> None:
        """Wait until all are `done`; an error names the hosts that are not in time."""
        end = time.monotonic() + limit_s
        while missing := [a.name for a in self.by_name.values() if not done(a)]:
            found = self.take(end - time.monotonic())
            if found is None:
                raise StrettoError(
                    f"no agent completed {doing} within {limit_s:g} s", ", ".join(missing[:8]),
                    f"try by hand: {shlex.join(self.starter(missing[0], ['hostname'])[0])}",
                )  # fmt: skip
            agent, message = found
            if message is None:
                words = self.starter(agent.name, ["ls", str(net_program())])[0]
                raise StrettoError(
                    f"the agent on {agent.name} ended: {agent.lost}", agent.name,
                    f"try by hand: {shlex.join(words)} (Stretto must be installed there in the "
                    "same place)",
                )  # fmt: skip
            if message["event"] == "hello" and message.get("version") != VERSION:
                raise StrettoError(
                    f"{agent.name} has version {message.get('version')} of stretto-net, and this "
                    f"host version {VERSION}",
                    agent.name, "install the same Stretto on all hosts",
                )  # fmt: skip
            if message["event"] == "error":
                raise StrettoError(
                    f"{agent.name}: {message.get('text')}", agent.name,
                    "name another address: --interface NAME, or another port: --port",
                )  # fmt: skip

    def listen(self, addresses: Mapping[str, NetHost], port: int, device: str | None) -> None:
        """Have every agent listen, each on its own address only."""
        for name, host in addresses.items():
            agent = self.by_name[name]
            agent.host = host
            own = f" device={device}" if device else ""
            agent.ask(f"listen address={host.address} port={port}{own}")
        self._wait(lambda agent: agent.port > 0, ANSWER_S, "listen")

    def traffic(self) -> list[RailBytes]:
        """Return what the interfaces of all hosts have sent and received until now.

        Nothing of a host whose agent has ended, or gives no answer in time.
        """
        found: dict[str, list[RailBytes]] = {}
        for agent in self.by_name.values():
            if agent.lost is None:
                agent.ask("rails")
        end = time.monotonic() + ANSWER_S
        while any(a.lost is None and a.name not in found for a in self.by_name.values()):
            taken = self.take(end - time.monotonic())
            if taken is None:
                break
            agent, message = taken
            if message is not None and message["event"] == "rails":
                found[agent.name] = [RailBytes(agent.name, **rail) for rail in message["rails"]]
        return [one for host in found.values() for one in host]

    def run(self, source: str, target: str, parameters: str, device: str | None) -> int:
        """Have one host measure with another; returns the id of the answer."""
        self._next_id += 1
        own, other = self.by_name[source], self.by_name[target]
        assert own.host is not None and other.host is not None
        bound = f" device={device}" if device else ""
        own.ask(
            f"run id={self._next_id} address={other.host.address} port={other.port} "
            f"bind={own.host.address}{bound} {parameters}"
        )
        return self._next_id

    def close(self) -> None:
        """End all agents: politely, then by signals."""
        for agent in self.by_name.values():
            agent.ask("quit")
            with contextlib.suppress(OSError):
                assert agent.process.stdin is not None
                agent.process.stdin.close()
        end = time.monotonic() + 5
        for agent in self.by_name.values():
            for finish in (agent.process.terminate, agent.process.kill):
                try:
                    agent.process.wait(max(0.1, end - time.monotonic()))
                    break
                except subprocess.TimeoutExpired:
                    finish()
                    end = time.monotonic() + 2
            agent.process.poll()
