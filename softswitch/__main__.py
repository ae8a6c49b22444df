# SPDX-License-Identifier: Apache-2.0
"""`python -m softswitch`: one switch in a process of its own, programmed over P4Runtime.

With `--interface N@NAME` it forwards between network interfaces; without, it only has a control
plane.
"""

import argparse
import logging
import os
import random
import re
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from softswitch.forwarder import Forwarder
from softswitch.interface import Interface, InterfaceError
from softswitch.p4rt.device import Device
from softswitch.program import Program
from softswitch.queue_settings import (
    QueueSettings,
    QueueSettingsError,
    load_queue_settings,
)
from softswitch.server import P4RuntimeServer, ServerError
from softswitch.switch import Switch

_PORT = re.compile(r"(\d{1,3})@(\S+)")
_MOST_PORT = 510  # 511 drops (v1model)


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; exit status 0, or 2 when it cannot start.

    Prints `P4Runtime on ADDRESS` with the bound port once calls are accepted; logs to standard
    error.
    """
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s softswitch %(message)s")
    rng = random.Random(options.seed)

    def make_switch(program: Program) -> Switch:
        return Switch(program, device_id=options.device_id, rng=rng, name=options.name)

    try:
        forwarder = _forwarder(options)
        device = Device(options.device_id, make_switch, forwarder.use if forwarder else None)
        server = P4RuntimeServer(options.grpc, [device])
    except (InterfaceError, QueueSettingsError, ServerError) as error:
        print(f"softswitch: {error}", file=sys.stderr)
        return 2
    stopped = threading.Event()
    stop = forwarder.stop if forwarder else stopped.set
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())
    if options.end_with_stdin:
        threading.Thread(target=_wait_for_stdin, args=(stop,), daemon=True).start()
    with server:
        print(f"P4Runtime on {server.address}", flush=True)
        if forwarder:
            forwarder.run()
        else:
            stopped.wait()
    return 0


def _forwarder(options: argparse.Namespace) -> Forwarder | None:
    if not options.interface:
        return None
    numbers = [number for number, _ in options.interface]
    for number in numbers:
        if numbers.count(number) > 1:
            raise InterfaceError(f"port {number} is given twice")
    if options.queues is not None:
        settings = load_queue_settings(options.queues, numbers)
    else:
        settings = dict.fromkeys(numbers, _settings(options))
    interfaces = [
        Interface(number, name, options.receive_buffer) for number, name in options.interface
    ]
    return Forwarder(interfaces, settings)


def _settings(options: argparse.Namespace) -> QueueSettings:
    return QueueSettings(
        mode=options.queue_mode,
        rate_bps=options.rate_bps,
        rates_pps=options.rates_pps,
        capacities=options.capacities,
    )


def _wait_for_stdin(stop: Callable[[], None]) -> None:
    # Not the buffered reader: a thread that waits in it cannot be left behind at the end.
    while os.read(0, 4096):
        pass
    stop()


def _interface(text: str) -> tuple[int, str]:
    match = _PORT.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= _MOST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r}: write it like 1@veth1, ports 1..{_MOST_PORT}")
    return int(match[1]), match[2]


def _three(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="softswitch", description=__doc__)
    add = parser.add_argument
    add("--grpc", default="127.0.0.1:9559", metavar="HOST:PORT", help="or unix:PATH")
    add("--device-id", type=int, default=1, metavar="N")
    add("--name", default="softswitch")
    add("--seed", type=int, default=None, help="of the random extern")
    add("--interface", type=_interface, action="append", metavar="N@NAME", help="port and its name")
    add("--queues", type=Path, metavar="FILE", help="JSON: queues by port, instead of the next")
    add("--queue-mode", choices=("strict", "bmv2"), default="strict")
    add(
        "--rate-bps", type=int, default=0, metavar="N", help="of each port, 0 for no limit (strict)"
    )
    add("--rates-pps", type=_three, default=[0, 0, 0], metavar="D,T,C", help="of classes (bmv2)")
    add("--capacities", type=_three, default=[64, 64, 64], metavar="D,T,C", help="packets a class")
    add("--receive-buffer", type=int, default=16 << 20, metavar="N", help="bytes of each interface")
    add("--end-with-stdin", action="store_true", help="end when standard input does")
    return parser


if __name__ == "__main__":
    sys.exit(main())
