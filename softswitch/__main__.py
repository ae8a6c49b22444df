# SPDX-License-Identifier: Apache-2.0
"""`python -m softswitch`: one switch in a process of its own, programmed over P4Runtime."""

import argparse
import random
import signal
import sys
import threading

from softswitch.p4rt.device import Device
from softswitch.program import Program
from softswitch.server import P4RuntimeServer, ServerError
from softswitch.switch import Switch


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; exit status 0, or 2 when the address cannot be bound.

    Prints `P4Runtime on ADDRESS` with the bound port once calls are accepted.
    """
    options = _parser().parse_args(arguments)
    rng = random.Random(options.seed)

    def make_switch(program: Program) -> Switch:
        return Switch(program, device_id=options.device_id, rng=rng, name=options.name)

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        server = P4RuntimeServer(options.grpc, [Device(options.device_id, make_switch)])
    except ServerError as error:
        print(f"softswitch: {error}", file=sys.stderr)
        return 2
    with server:
        print(f"P4Runtime on {server.address}", flush=True)
        stop.wait()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="softswitch", description=__doc__)
    parser.add_argument("--grpc", default="127.0.0.1:9559", metavar="HOST:PORT")
    parser.add_argument("--device-id", type=int, default=1, metavar="N")
    parser.add_argument("--name", default="softswitch")
    parser.add_argument("--seed", type=int, default=None, help="of the random extern")
    return parser


if __name__ == "__main__":
    sys.exit(main())
