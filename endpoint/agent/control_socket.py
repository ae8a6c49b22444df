# SPDX-License-Identifier: Apache-2.0
"""The Unix socket of the control service: refuses one in use, replaces one left behind."""

import os
import socket
import stat
from concurrent.futures import ThreadPoolExecutor

import grpc

from endpoint.agent.errors import SetupError
from endpoint.agent.proto.agent_pb2_grpc import add_AgentServicer_to_server
from endpoint.agent.service import AgentService

MOST_STREAMS = 32
_CALL_WORKERS = 8
_MOST_PATH_BYTES = 107  # sockaddr_un, unix(7)
_OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 4 << 20),
)


def clear_path(path: str) -> None:
    """Makes the path free for a socket. SetupError when another process listens there, when it
    is no socket, or when it is too long."""
    if len(os.fsencode(path)) > _MOST_PATH_BYTES:
        raise SetupError(
            f"socket {path}: a Unix socket's path has at most {_MOST_PATH_BYTES} bytes"
        )
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise SetupError(f"socket {path}: {error.strerror}") from error
    if not stat.S_ISSOCK(mode):
        raise SetupError(f"socket {path}: there is something else at that path")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)  # left behind by an agent that was killed
            return
        except OSError as error:
            raise SetupError(f"socket {path}: {error.strerror}") from error
    raise SetupError(f"socket {path}: another process listens there")


class ControlServer:
    """Serves an `AgentService` at a path, for its own user only, until `stop`."""

    def __init__(self, path: str, service: AgentService) -> None:
        self.path = os.path.abspath(path)
        clear_path(self.path)
        workers = ThreadPoolExecutor(MOST_STREAMS + _CALL_WORKERS, thread_name_prefix="control")
        self._workers = workers
        self._server = grpc.server(workers, options=_OPTIONS)
        add_AgentServicer_to_server(service, self._server)  # type: ignore[no-untyped-call]
        mask = os.umask(0o177)
        try:
            bound = self._server.add_insecure_port(f"unix:{self.path}")
        except RuntimeError:
            bound = 0
        finally:
            os.umask(mask)
        if not bound:
            raise SetupError(f"socket {self.path}: cannot be made there")
        self._server.start()
        self._identity = _identity(self.path)

    def stop(self, grace_s: float = 0.5) -> None:
        """Refuses new calls, lets open ones end for `grace_s` seconds, and removes the socket."""
        self._server.stop(grace_s).wait()
        self._workers.shutdown(wait=True)
        if self._identity is not None and _identity(self.path) == self._identity:
            os.unlink(self.path)  # unless it is another agent's by now


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
