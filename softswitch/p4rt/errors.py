# SPDX-License-Identifier: Apache-2.0
"""Errors of the P4Runtime service and how they travel in gRPC status and trailing metadata."""

from collections.abc import Sequence

import grpc
from google.rpc import code_pb2, status_pb2
from p4.v1 import p4runtime_pb2

DETAILS_KEY = "grpc-status-details-bin"


class RpcError(Exception):
    """An RPC, or one update or request of a batch, fails with `code` and `message`."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.INVALID_ARGUMENT, message)


def not_found(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.NOT_FOUND, message)


def denied(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.PERMISSION_DENIED, message)


def unimplemented(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.UNIMPLEMENTED, message)


def out_of_range(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.OUT_OF_RANGE, message)


def batch_status(message: str, results: Sequence[RpcError | None]) -> bytes:
    """Serialised google.rpc.Status with one p4.v1.Error for each element of a batch, in order.

    P4Runtime specification, "Error Reporting Messages". The overall code is UNKNOWN, as the
    specification asks of a batch in which anything failed.
    """
    status = status_pb2.Status(code=code_pb2.UNKNOWN, message=message)
    for error in results:
        detail = p4runtime_pb2.Error()
        if error is not None:
            detail.canonical_code = error.code.value[0]
            detail.message = error.message
        status.details.add().Pack(detail)
    return status.SerializeToString()


def abort_batch(
    context: grpc.ServicerContext, what: str, results: Sequence[RpcError | None]
) -> None:
    """End the RPC with UNKNOWN and per-element details when any element of the batch failed."""
    failed = [error for error in results if error is not None]
    if not failed:
        return
    message = f"{what}: {len(failed)} of {len(results)} failed; first: {failed[0].message}"
    context.set_trailing_metadata(((DETAILS_KEY, batch_status(message, results)),))
    context.abort(grpc.StatusCode.UNKNOWN, message)
