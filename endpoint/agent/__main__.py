# SPDX-License-Identifier: Apache-2.0
"""`python -m endpoint.agent`: the agent of one host, on its interfaces, until SIGTERM."""

import argparse
import logging
import signal
import sys

from endpoint.agent.agent import Agent, AgentSettings
from endpoint.agent.errors import SetupError
from topologies import TopologyError, load


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 after SIGTERM, SIGINT or a shutdown call, 2 when it cannot start.

    Prints one line of JSON on standard output once calls are accepted; logs to standard error.
    """
    options = _parser().parse_args(arguments)
    logging.basicConfig(
        level=options.log_level.upper(), format="%(asctime)s agent %(levelname)s: %(message)s"
    )
    try:
        agent = Agent(
            AgentSettings(
                load(options.fabric),
                options.host,
                options.ports.split(","),
                options.socket,
                options.rate_bps,
                options.rate_fps,
                options.burst,
                options.receive_buffer,
                options.seed,
                options.end_with_stdin,
                options.hold_ns,
            )
        )
    except (SetupError, TopologyError) as error:
        print(f"agent: {error}", file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    print(agent.ready_line(), flush=True)
    agent.run()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m endpoint.agent", description=__doc__)
    add = parser.add_argument
    add("--fabric", required=True, metavar="F", help="a preset's name, or the path of a YAML file")
    add("--host", required=True, metavar="h1", help="this host's name in the fabric")
    add("--ports", required=True, metavar="eth0,eth1", help="interfaces in the order of planes")
    add("--socket", required=True, metavar="PATH", help="Unix socket for control")
    add("--rate-bps", type=int, metavar="N", help="bits a second of each port (the fabric's)")
    add("--rate-fps", type=int, default=0, metavar="N", help="data frames a second of each port")
    add("--burst", type=int, metavar="N", help="frames at once, of each port")
    add("--receive-buffer", type=int, default=16 << 20, metavar="N", help="bytes of each socket")
    add("--seed", type=int, metavar="N", help="of all random choices")
    add("--hold-ns", type=int, default=0, metavar="N", help="hold received frames back so long")
    add("--end-with-stdin", action="store_true", help="end when standard input does")
    add("--log-level", default="info", choices=("debug", "info", "warning", "error"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
