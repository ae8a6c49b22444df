# SPDX-License-Identifier: Apache-2.0
"""Which two hosts, in which world: all the ways to say it, to a connected pair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import topologies
from endpoint.agent.client import AgentClient
from endpoint.agent.errors import AgentError
from testbed.perftest.agents import CALL_S, AgentPair
from testbed.perftest.errors import PerftestError
from testbed.perftest.pair import Pair
from testbed.perftest.running import agent_sockets
from testbed.perftest.settings import Settings
from testbed.perftest.virtual import VirtualPair

WORLDS = ("virtual", "mininet")


@dataclass(frozen=True, slots=True)
class Ends:
    """Options as they were given: hosts by position, hosts of a running fabric (`--from`, `--to`),
    or sockets of agents."""

    src: str | None = None
    dst: str | None = None
    from_host: str | None = None
    to_host: str | None = None
    client: str | None = None
    server: str | None = None
    world: str = "virtual"
    topology: str = "demo"
    seed: int = 1
    run: str | None = None

    def check(self) -> None:
        """PerftestError when they contradict each other."""
        if self.world not in WORLDS:
            raise PerftestError(f"--world {self.world}: there are {' and '.join(WORLDS)}")
        for one, other, names in (
            (self.from_host, self.to_host, "--from and --to"),
            (self.client, self.server, "--client and --server"),
        ):
            if (one is None) != (other is None):
                raise PerftestError(f"{names}: one needs the other")
        if (self.src, self.from_host, self.client).count(None) < 2:
            raise PerftestError(
                "hosts are named once: as SRC and DST, with --from and --to, or by the sockets "
                "of their agents with --client and --server"
            )

    @property
    def on_running_fabric(self) -> bool:
        """Whether the hosts are those of a fabric that somebody has brought up."""
        return self.world == "mininet" or self.from_host is not None

    def hosts(self, fabric: topologies.Fabric) -> tuple[str, str]:
        """Source and destination: by default h1 and the first host that is not under its T0."""
        spec = fabric.spec
        far = spec.nics_per_t0 if spec.t0s > 1 else fabric.nic_count - 1
        return self.src or "h1", self.dst or fabric.host_at(far).name


@contextmanager
def connect(ends: Ends, settings: Settings) -> Iterator[Pair]:
    """The two hosts, connected. PerftestError says what is wrong with the options or the hosts."""
    ends.check()
    if ends.client is not None and ends.server is not None:
        sockets = ends.client, ends.server
    elif ends.on_running_fabric:
        hosts = ends.from_host or ends.src, ends.to_host or ends.dst
        if hosts[0] is None or hosts[1] is None:
            raise PerftestError("SRC and DST: on a running fabric both must be given")
        sockets = agent_sockets((hosts[0], hosts[1]), ends.run)
    else:
        fabric = topologies.load(ends.topology)
        yield VirtualPair(fabric, *ends.hosts(fabric), settings, ends.seed)
        return
    try:
        with (
            AgentClient(sockets[0], timeout_s=CALL_S) as client,
            AgentClient(sockets[1], timeout_s=CALL_S) as server,
            AgentPair(client, server, settings) as pair,
        ):
            yield pair
    except AgentError as error:
        raise PerftestError(str(error)) from error
