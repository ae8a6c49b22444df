# SPDX-License-Identifier: Apache-2.0
"""What the agent refuses, and what a client of it is told."""


class SetupError(Exception):
    """The agent cannot start: the message names the option, interface or file."""


class RequestError(Exception):
    """A request that the agent refuses; nothing was changed."""


class UnknownObject(RequestError):
    """It names a queue pair, region or EV that is not there."""


class BadRequest(RequestError):
    """A value in it is impossible."""


class WrongState(RequestError):
    """The queue pair's state does not allow it."""


class LimitReached(RequestError):
    """There is no room for one more."""


class AgentError(Exception):
    """A call to an agent failed; the message names the agent, the call and the reason."""


class AgentUnavailable(AgentError):
    """No agent answers at that socket: not started, ended or killed."""


class AgentTimeout(AgentError):
    """No answer, or not what was waited for, within the time given."""


class AgentRefused(AgentError):
    """The agent answered that it will not; `code` is the name of the gRPC status code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class AgentStartError(AgentError):
    """An agent process did not become ready; the message has its command, exit status and log."""
