# SPDX-License-Identifier: Apache-2.0
"""The prompt of `mrc up`: Mininet's, with commands of our own; no logic, see `Session`."""

from __future__ import annotations

import atexit
import functools
import inspect
import readline
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mininet.cli import CLI
from rich.markup import escape

from endpoint.agent.errors import AgentError
from testbed.cli import prompt_tables
from testbed.cli.mininet_tables import show_mininet_run
from testbed.cli.output import console
from testbed.cli.prompt_words import BadCommand, percentage, plain_number, size_bytes
from testbed.mininet.errors import MininetWorldError
from testbed.mininet.session import OpenFault, Session
from testbed.mininet.transfers import Transfer, TransferResult
from testbed.report.wording import size
from testbed.scenario import ScenarioError, shipped_scenarios
from topologies.errors import TopologyError

_HISTORY = Path.home() / ".cache" / "mrc" / "history"
_HISTORY_LINES = 1000

_NOT_HERE = frozenset(
    (
        "do_dpctl",
        "do_gterm",
        "do_iperf",
        "do_iperfudp",
        "do_link",
        "do_pingall",
        "do_pingallfull",
        "do_pingpair",
        "do_pingpairfull",
        "do_switch",
        "do_wait",
        "do_x",
        "do_xterm",
    )
)
"""Of Mininet's commands, those that have no meaning here (hosts speak no IP), or would break what
`fail` and `stop` break without harm."""

_OURS = (
    *("write", "wait", "fail", "stop", "start", "silence", "heal", "faults"),
    *("evs", "counters", "stats", "pcap", "restart", "scenario", "status"),
)

_Command = Callable[[Any, str], bool | None]


def _says_what_is_wrong(command: _Command) -> _Command:
    """What is wrong with a command is a line at the prompt, never its end."""

    @functools.wraps(command)
    def wrapped(self: Prompt, line: str) -> bool | None:
        try:
            return command(self, line)
        except BadCommand as error:
            usage = (command.__doc__ or "").splitlines()[0]
            self.say(f"{error}; usage: {usage}" if str(error) else f"usage: {usage}")
        except (AgentError, MininetWorldError, ScenarioError, TopologyError) as error:
            self.say(str(error))
        return None

    return wrapped


class Prompt(CLI):  # type: ignore[misc]
    """Runs from its making until `exit` or end of input."""

    prompt = "mrc> "
    doc_header = "Commands (help COMMAND says more):"

    def __init__(self, session: Session, made: list[Prompt], **options: Any) -> None:
        """It is put into `made` before it runs."""
        self.session = session
        self.out = console()
        made.append(self)
        super().__init__(session.live.net.mininet, **options)

    def say(self, text: str) -> None:
        """A line for the user, as it is."""
        self.out.print(escape(text), soft_wrap=True)

    def tell(self, transfer: Transfer, result: TransferResult) -> None:
        """A transfer has ended: called from its thread."""
        self.say(prompt_tables.transfer_line(transfer, result))

    # -- the loop -----------------------------------------------------------------------------

    @classmethod
    def initReadline(cls) -> None:
        if cls.readlineInited:
            return
        cls.readlineInited = True
        readline.set_completer_delims(" \t\n")
        if _HISTORY.is_file():
            readline.read_history_file(_HISTORY)
        readline.set_history_length(_HISTORY_LINES)
        atexit.register(_keep_history)

    def get_names(self) -> list[str]:
        return [name for name in super().get_names() if name not in _NOT_HERE or name in _MEANT]

    def onecmd(self, line: str) -> bool | None:
        name = self.parseline(line)[0]
        if name and f"do_{name}" in _NOT_HERE and f"do_{name}" not in _MEANT:
            self.say(f"{name} has no meaning here; `help` lists what has")
            return None
        stop: bool | None = super().onecmd(line)
        return stop

    def do_help(self, line: str) -> None:
        """List commands, or say more about one."""
        if line:
            document = getattr(self, f"do_{line.strip()}", None)
            self.say(inspect.cleandoc(document.__doc__ or "") if document else f"no {line!r} here")
            return
        documents = (getattr(self, f"do_{name}").__doc__ or "" for name in _OURS)
        prompt_tables.show_help(self.out, [text.splitlines()[0] for text in documents])

    def default(self, line: str) -> None:
        """A command for a node's namespace: it has the terminal until it ends."""
        name, _, command = line.strip().partition(" ")
        if name not in self.mn:
            self.say(f"no command {name!r}; `help` lists what there is")
        elif not command.strip():
            self.say(f"a command for {name}, please: {name} ip -s link")
        else:
            self.mn[name].call(["sh", "-c", command])

    # -- traffic ------------------------------------------------------------------------------

    @_says_what_is_wrong
    def do_write(self, line: str) -> None:
        """write SOURCE TARGET SIZE

        Write random bytes from one host to another, in the background, and verify each.
        SIZE is bytes, or a number with K, M or G (powers of 1024): write h1 h3 8M
        """
        source, target, length = _words(line, 3)
        count = size_bytes(length)
        transfer = self.session.write(source, target, count)
        seconds = self.session.expected_seconds(count)
        self.say(
            f"write {transfer.number}: {source} → {target}, {size(count)}, about {seconds:.0f} s "
            "if nothing else is sent; `wait` waits for it"
        )

    @_says_what_is_wrong
    def do_wait(self, line: str) -> None:
        """wait

        Wait until all writes have ended. Ctrl-C comes back to the prompt; the writes go on.
        """
        _words(line, 0)
        self.session.wait()

    @_says_what_is_wrong
    def do_evs(self, line: str) -> None:
        """evs HOST

        Paths of every queue pair that sends from a host: state, and packets sent on each.
        """
        (host,) = _words(line, 1)
        prompt_tables.show_paths(self.out, host, self.session.paths(host))

    @_says_what_is_wrong
    def do_stats(self, line: str) -> None:
        """stats HOST

        Ports of a host, and counters of its queue pairs.
        """
        (host,) = _words(line, 1)
        self.session.fabric.host(host)
        client = self.session.live.agents.clients[host]
        prompt_tables.show_statistics(self.out, client.statistics(), client.ports())

    # -- faults -------------------------------------------------------------------------------

    @_says_what_is_wrong
    def do_fail(self, line: str) -> None:
        """fail link A B [silent | lossy PERCENT] · fail port HOST PLANE · fail switch S [silent]

        A link goes down, silently or not, or loses a share of its frames; a NIC port goes down;
        a switch stops, or swallows every packet.
          fail link p0t0a p0t1b          both directions are lost (no switch looks at carrier)
          fail link h1 p0t0a             the host's end goes down, and the host sees it
          fail link p0t0a p0t1b silent   nothing gets across, nobody is told
          fail link p0t0a p0t1b lossy 20
          fail port h1 0
          fail switch p0t1a              as `stop switch p0t1a`
          fail switch p0t1a silent       as `silence switch p0t1a`
        """
        words = line.split()
        match words:
            case ["link", one, other, *how]:
                self._fail_link(one, other, how)
            case ["port", host, plane]:
                port = plain_number(plane, "plane")
                link = self.session.fabric.link_at(host, port).name
                breaker = self.session.breaker
                self._broken(f"port {host} {port}", lambda n: breaker.cut_link(link, n))
            case ["switch", switch]:
                self._stop(switch)
            case ["switch", switch, "silent"]:
                self._silence(switch)
            case _:
                raise BadCommand("")

    def _fail_link(self, one: str, other: str, how: list[str]) -> None:
        link, breaker = self.session.link(one, other).name, self.session.breaker
        match how:
            case [] | ["down"]:
                self._broken(f"link {link}", lambda n: breaker.cut_link(link, n))
            case ["silent"]:
                self._broken(f"link {link} silent", lambda n: breaker.silence_link(link, n))
            case ["lossy", share]:
                part = percentage(share)
                self._broken(
                    f"link {link} lossy {part:.0%}", lambda n: breaker.thin_link(link, part, n)
                )
            case _:
                raise BadCommand(f"{' '.join(how)!r} is none of silent, lossy PERCENT")

    def _broken(self, label: str, act: Callable[[int], None]) -> None:
        fault = self.session.break_it(label, act)
        self._told(fault)

    def _told(self, fault: OpenFault) -> None:
        self.say(f"broken ({fault.number}): {fault.label}")

    def _stop(self, switch: str) -> None:
        self.session.fabric.switch(switch)
        if self.session.stopped_by(switch) is not None:
            raise MininetWorldError(f"{switch} is stopped already")
        self._broken(f"stop switch {switch}", lambda n: self.session.breaker.stop_switch(switch, n))

    def _silence(self, switch: str) -> None:
        self.session.fabric.switch(switch)
        self._broken(
            f"silent switch {switch}", lambda n: self.session.breaker.silence_switch(switch, n)
        )

    @_says_what_is_wrong
    def do_stop(self, line: str) -> None:
        """stop switch SWITCH

        Stop a switch: queues and tables are gone, its links lose carrier. `start` brings it back.
        """
        self._stop(_switch(line))

    @_says_what_is_wrong
    def do_start(self, line: str) -> None:
        """start switch SWITCH

        Start a switch that was stopped, or that has ended, and provision it again.
        """
        switch = _switch(line)
        self.session.start_switch(switch)
        self.say(f"{switch} forwards again")

    @_says_what_is_wrong
    def do_silence(self, line: str) -> None:
        """silence switch SWITCH

        Let a switch swallow every packet; carrier and control plane stay up.
        """
        self._silence(_switch(line))

    @_says_what_is_wrong
    def do_heal(self, line: str) -> None:
        """heal [NUMBER]

        Mend one fault, or everything. Retired paths return when probes have shown them good.
        """
        words = line.split()
        if words:
            self.session.heal(plain_number(_words(line, 1)[0], "number"))
            self.say("mended")
            return
        labels = self.session.heal_all()
        self.say(f"mended: {', '.join(labels)}" if labels else "nothing is broken")

    @_says_what_is_wrong
    def do_faults(self, line: str) -> None:
        """faults

        What is broken now, and the frames that it has swallowed.
        """
        _words(line, 0)
        prompt_tables.show_faults(self.out, self.session)

    # -- looking ------------------------------------------------------------------------------

    @_says_what_is_wrong
    def do_status(self, line: str) -> None:
        """status

        The fabric, its switches and agents, what is broken, what is under way.
        """
        _words(line, 0)
        prompt_tables.show_status(self.out, self.session)

    @_says_what_is_wrong
    def do_counters(self, line: str) -> None:
        """counters [SWITCH …]

        Packets by port and class, marked, trimmed, dropped; of all switches, or of these.
        """
        names = line.split() or [switch.name for switch in self.session.fabric.switches()]
        prompt_tables.show_counters(self.out, self.session, names)

    @_says_what_is_wrong
    def do_pcap(self, line: str) -> None:
        """pcap A B [stop]

        Capture both directions of a link into a file, until `pcap A B stop` or the end.
        """
        match line.split():
            case [one, other]:
                link = self.session.link(one, other).name
                self.say(f"capturing {link} into {self.session.begin_capture(link)}")
            case [one, other, "stop"]:
                link = self.session.link(one, other).name
                self.say(f"{self.session.end_capture(link)}")
            case _:
                raise BadCommand("")

    @_says_what_is_wrong
    def do_restart(self, line: str) -> None:
        """restart HOST

        Give a host a new agent, in place of one that has ended or hangs.
        """
        (host,) = _words(line, 1)
        self.session.restart_agent(host)
        self.say(f"{host} has a new agent")

    @_says_what_is_wrong
    def do_scenario(self, line: str) -> None:
        """scenario NAME

        Run a scenario (a shipped one, or a YAML file) on this fabric.
        """
        (name,) = _words(line, 1)
        result, ran, folder = self.session.scenario(name)
        show_mininet_run(self.out, result, ran, folder)

    # -- completion ---------------------------------------------------------------------------

    def completedefault(self, text: str, line: str, begin: int, end: int) -> list[str]:
        """Words that may come next, for every command."""
        words = line[:begin].split()
        return [word for word in self._candidates(words) if word.startswith(text)]

    def _candidates(self, before: list[str]) -> Iterable[str]:
        fabric = self.session.fabric
        hosts = [host.name for host in fabric.hosts]
        switches = [switch.name for switch in fabric.switches()]
        match before:
            case ["write"] | ["write", _] | ["evs"] | ["stats"] | ["restart"] | ["fail", "port"]:
                return hosts
            case ["fail"]:
                return ["link", "port", "switch"]
            case ["fail", "link"] | ["pcap"]:
                return [*hosts, *switches]
            case ["fail", "link", one] | ["pcap", one]:
                return self._neighbours(one)
            case ["fail", "link", _, _]:
                return ["silent", "lossy"]
            case ["fail", "switch", _]:
                return ["silent"]
            case ["pcap", _, _]:
                return ["stop"]
            case ["stop"] | ["start"] | ["silence"]:
                return ["switch"]
            case [("stop" | "start" | "silence" | "fail"), "switch"] | ["counters", *_]:
                return switches
            case ["scenario"]:
                return shipped_scenarios()
        return []

    def _neighbours(self, node: str) -> list[str]:
        fabric = self.session.fabric
        try:
            return [fabric.neighbour(node, port).node for port in fabric.ports(node)]
        except TopologyError:
            return []


_MEANT = frozenset(("do_wait",))
"""Names of Mininet's that mean something else here."""


def _words(line: str, count: int) -> list[str]:
    words = line.split()
    if len(words) != count:
        raise BadCommand("")
    return words


def _switch(line: str) -> str:
    match line.split():
        case ["switch", name]:
            return name
    raise BadCommand("")


def _keep_history() -> None:
    try:
        _HISTORY.parent.mkdir(parents=True, exist_ok=True)
        readline.write_history_file(_HISTORY)
    except OSError:
        pass  # a prompt without history is a prompt all the same
