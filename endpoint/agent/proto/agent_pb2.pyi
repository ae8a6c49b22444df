# SPDX-License-Identifier: Apache-2.0
from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentInfo(_message.Message):
    __slots__ = ("host", "host_index", "address", "process_id", "fabric", "planes", "path_mtu", "base_rtt_ns", "now_ns", "version")
    HOST_FIELD_NUMBER: _ClassVar[int]
    HOST_INDEX_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PROCESS_ID_FIELD_NUMBER: _ClassVar[int]
    FABRIC_FIELD_NUMBER: _ClassVar[int]
    PLANES_FIELD_NUMBER: _ClassVar[int]
    PATH_MTU_FIELD_NUMBER: _ClassVar[int]
    BASE_RTT_NS_FIELD_NUMBER: _ClassVar[int]
    NOW_NS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    host: str
    host_index: int
    address: bytes
    process_id: int
    fabric: str
    planes: int
    path_mtu: int
    base_rtt_ns: int
    now_ns: int
    version: str
    def __init__(self, host: _Optional[str] = ..., host_index: _Optional[int] = ..., address: _Optional[bytes] = ..., process_id: _Optional[int] = ..., fabric: _Optional[str] = ..., planes: _Optional[int] = ..., path_mtu: _Optional[int] = ..., base_rtt_ns: _Optional[int] = ..., now_ns: _Optional[int] = ..., version: _Optional[str] = ...) -> None: ...

class RegisterMemoryRequest(_message.Message):
    __slots__ = ("length", "file", "create", "remote_write")
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    CREATE_FIELD_NUMBER: _ClassVar[int]
    REMOTE_WRITE_FIELD_NUMBER: _ClassVar[int]
    length: int
    file: str
    create: bool
    remote_write: bool
    def __init__(self, length: _Optional[int] = ..., file: _Optional[str] = ..., create: bool = ..., remote_write: bool = ...) -> None: ...

class Region(_message.Message):
    __slots__ = ("region_id", "va", "rkey", "length", "remote_write", "file")
    REGION_ID_FIELD_NUMBER: _ClassVar[int]
    VA_FIELD_NUMBER: _ClassVar[int]
    RKEY_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    REMOTE_WRITE_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    region_id: int
    va: int
    rkey: int
    length: int
    remote_write: bool
    file: str
    def __init__(self, region_id: _Optional[int] = ..., va: _Optional[int] = ..., rkey: _Optional[int] = ..., length: _Optional[int] = ..., remote_write: bool = ..., file: _Optional[str] = ...) -> None: ...

class DeregisterMemoryRequest(_message.Message):
    __slots__ = ("region_id",)
    REGION_ID_FIELD_NUMBER: _ClassVar[int]
    region_id: int
    def __init__(self, region_id: _Optional[int] = ...) -> None: ...

class ReadMemoryRequest(_message.Message):
    __slots__ = ("region_id", "offset", "length")
    REGION_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    region_id: int
    offset: int
    length: int
    def __init__(self, region_id: _Optional[int] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ...) -> None: ...

class WriteMemoryRequest(_message.Message):
    __slots__ = ("region_id", "offset", "data")
    REGION_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    region_id: int
    offset: int
    data: bytes
    def __init__(self, region_id: _Optional[int] = ..., offset: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class Bytes(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class QpOptions(_message.Message):
    __slots__ = ("first_psn", "evs", "min_active", "timeout", "linear_retries", "exponential_retries", "congestion", "trimmable", "base_rtt_ns", "reorder_ns", "mpr_units", "max_wimm", "loss_free_ns", "path_mtu")
    FIRST_PSN_FIELD_NUMBER: _ClassVar[int]
    EVS_FIELD_NUMBER: _ClassVar[int]
    MIN_ACTIVE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    LINEAR_RETRIES_FIELD_NUMBER: _ClassVar[int]
    EXPONENTIAL_RETRIES_FIELD_NUMBER: _ClassVar[int]
    CONGESTION_FIELD_NUMBER: _ClassVar[int]
    TRIMMABLE_FIELD_NUMBER: _ClassVar[int]
    BASE_RTT_NS_FIELD_NUMBER: _ClassVar[int]
    REORDER_NS_FIELD_NUMBER: _ClassVar[int]
    MPR_UNITS_FIELD_NUMBER: _ClassVar[int]
    MAX_WIMM_FIELD_NUMBER: _ClassVar[int]
    LOSS_FREE_NS_FIELD_NUMBER: _ClassVar[int]
    PATH_MTU_FIELD_NUMBER: _ClassVar[int]
    first_psn: int
    evs: int
    min_active: int
    timeout: int
    linear_retries: int
    exponential_retries: int
    congestion: str
    trimmable: bool
    base_rtt_ns: int
    reorder_ns: int
    mpr_units: int
    max_wimm: int
    loss_free_ns: int
    path_mtu: int
    def __init__(self, first_psn: _Optional[int] = ..., evs: _Optional[int] = ..., min_active: _Optional[int] = ..., timeout: _Optional[int] = ..., linear_retries: _Optional[int] = ..., exponential_retries: _Optional[int] = ..., congestion: _Optional[str] = ..., trimmable: bool = ..., base_rtt_ns: _Optional[int] = ..., reorder_ns: _Optional[int] = ..., mpr_units: _Optional[int] = ..., max_wimm: _Optional[int] = ..., loss_free_ns: _Optional[int] = ..., path_mtu: _Optional[int] = ...) -> None: ...

class QpInfo(_message.Message):
    __slots__ = ("qpn", "psn", "host_index", "address", "path_mtu", "mpr_units", "capabilities")
    QPN_FIELD_NUMBER: _ClassVar[int]
    PSN_FIELD_NUMBER: _ClassVar[int]
    HOST_INDEX_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PATH_MTU_FIELD_NUMBER: _ClassVar[int]
    MPR_UNITS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    qpn: int
    psn: int
    host_index: int
    address: bytes
    path_mtu: int
    mpr_units: int
    capabilities: Capabilities
    def __init__(self, qpn: _Optional[int] = ..., psn: _Optional[int] = ..., host_index: _Optional[int] = ..., address: _Optional[bytes] = ..., path_mtu: _Optional[int] = ..., mpr_units: _Optional[int] = ..., capabilities: _Optional[_Union[Capabilities, _Mapping]] = ...) -> None: ...

class Capabilities(_message.Message):
    __slots__ = ("max_message_bytes", "max_wimm", "write_with_immediate", "trimming", "planes")
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_WIMM_FIELD_NUMBER: _ClassVar[int]
    WRITE_WITH_IMMEDIATE_FIELD_NUMBER: _ClassVar[int]
    TRIMMING_FIELD_NUMBER: _ClassVar[int]
    PLANES_FIELD_NUMBER: _ClassVar[int]
    max_message_bytes: int
    max_wimm: int
    write_with_immediate: bool
    trimming: bool
    planes: int
    def __init__(self, max_message_bytes: _Optional[int] = ..., max_wimm: _Optional[int] = ..., write_with_immediate: bool = ..., trimming: bool = ..., planes: _Optional[int] = ...) -> None: ...

class ConnectQpRequest(_message.Message):
    __slots__ = ("qpn", "peer")
    QPN_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    qpn: int
    peer: QpInfo
    def __init__(self, qpn: _Optional[int] = ..., peer: _Optional[_Union[QpInfo, _Mapping]] = ...) -> None: ...

class QpRequest(_message.Message):
    __slots__ = ("qpn",)
    QPN_FIELD_NUMBER: _ClassVar[int]
    qpn: int
    def __init__(self, qpn: _Optional[int] = ...) -> None: ...

class PostWritesRequest(_message.Message):
    __slots__ = ("qpn", "writes")
    QPN_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    qpn: int
    writes: _containers.RepeatedCompositeFieldContainer[WriteWork]
    def __init__(self, qpn: _Optional[int] = ..., writes: _Optional[_Iterable[_Union[WriteWork, _Mapping]]] = ...) -> None: ...

class WriteWork(_message.Message):
    __slots__ = ("wr_id", "region_id", "offset", "length", "remote_va", "rkey", "imm")
    WR_ID_FIELD_NUMBER: _ClassVar[int]
    REGION_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    REMOTE_VA_FIELD_NUMBER: _ClassVar[int]
    RKEY_FIELD_NUMBER: _ClassVar[int]
    IMM_FIELD_NUMBER: _ClassVar[int]
    wr_id: int
    region_id: int
    offset: int
    length: int
    remote_va: int
    rkey: int
    imm: int
    def __init__(self, wr_id: _Optional[int] = ..., region_id: _Optional[int] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ..., remote_va: _Optional[int] = ..., rkey: _Optional[int] = ..., imm: _Optional[int] = ...) -> None: ...

class PostReceivesRequest(_message.Message):
    __slots__ = ("qpn", "wr_ids")
    QPN_FIELD_NUMBER: _ClassVar[int]
    WR_IDS_FIELD_NUMBER: _ClassVar[int]
    qpn: int
    wr_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, qpn: _Optional[int] = ..., wr_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class Posted(_message.Message):
    __slots__ = ("time_ns",)
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    time_ns: int
    def __init__(self, time_ns: _Optional[int] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("after", "qpn")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    QPN_FIELD_NUMBER: _ClassVar[int]
    after: int
    qpn: int
    def __init__(self, after: _Optional[int] = ..., qpn: _Optional[int] = ...) -> None: ...

class CompletionBatch(_message.Message):
    __slots__ = ("completions", "last")
    COMPLETIONS_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    completions: _containers.RepeatedCompositeFieldContainer[Completion]
    last: int
    def __init__(self, completions: _Optional[_Iterable[_Union[Completion, _Mapping]]] = ..., last: _Optional[int] = ...) -> None: ...

class Completion(_message.Message):
    __slots__ = ("qpn", "wr_id", "opcode", "status", "byte_len", "imm", "time_ns")
    QPN_FIELD_NUMBER: _ClassVar[int]
    WR_ID_FIELD_NUMBER: _ClassVar[int]
    OPCODE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    BYTE_LEN_FIELD_NUMBER: _ClassVar[int]
    IMM_FIELD_NUMBER: _ClassVar[int]
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    qpn: int
    wr_id: int
    opcode: str
    status: str
    byte_len: int
    imm: int
    time_ns: int
    def __init__(self, qpn: _Optional[int] = ..., wr_id: _Optional[int] = ..., opcode: _Optional[str] = ..., status: _Optional[str] = ..., byte_len: _Optional[int] = ..., imm: _Optional[int] = ..., time_ns: _Optional[int] = ...) -> None: ...

class EventBatch(_message.Message):
    __slots__ = ("events", "last", "missed")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    last: int
    missed: int
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., last: _Optional[int] = ..., missed: _Optional[int] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("ev", "port", "qp", "dropped")
    EV_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    QP_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    ev: EvChanged
    port: PortChanged
    qp: QpChanged
    dropped: FramesDropped
    def __init__(self, ev: _Optional[_Union[EvChanged, _Mapping]] = ..., port: _Optional[_Union[PortChanged, _Mapping]] = ..., qp: _Optional[_Union[QpChanged, _Mapping]] = ..., dropped: _Optional[_Union[FramesDropped, _Mapping]] = ...) -> None: ...

class EvChanged(_message.Message):
    __slots__ = ("time_ns", "qpn", "ev", "plane", "old", "new", "cause")
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    QPN_FIELD_NUMBER: _ClassVar[int]
    EV_FIELD_NUMBER: _ClassVar[int]
    PLANE_FIELD_NUMBER: _ClassVar[int]
    OLD_FIELD_NUMBER: _ClassVar[int]
    NEW_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    time_ns: int
    qpn: int
    ev: int
    plane: int
    old: str
    new: str
    cause: str
    def __init__(self, time_ns: _Optional[int] = ..., qpn: _Optional[int] = ..., ev: _Optional[int] = ..., plane: _Optional[int] = ..., old: _Optional[str] = ..., new: _Optional[str] = ..., cause: _Optional[str] = ...) -> None: ...

class PortChanged(_message.Message):
    __slots__ = ("time_ns", "port", "usable", "remote", "address")
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    USABLE_FIELD_NUMBER: _ClassVar[int]
    REMOTE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    time_ns: int
    port: int
    usable: bool
    remote: bool
    address: bytes
    def __init__(self, time_ns: _Optional[int] = ..., port: _Optional[int] = ..., usable: bool = ..., remote: bool = ..., address: _Optional[bytes] = ...) -> None: ...

class QpChanged(_message.Message):
    __slots__ = ("time_ns", "qpn", "old", "new", "reason")
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    QPN_FIELD_NUMBER: _ClassVar[int]
    OLD_FIELD_NUMBER: _ClassVar[int]
    NEW_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    time_ns: int
    qpn: int
    old: str
    new: str
    reason: str
    def __init__(self, time_ns: _Optional[int] = ..., qpn: _Optional[int] = ..., old: _Optional[str] = ..., new: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class FramesDropped(_message.Message):
    __slots__ = ("time_ns", "port", "interface", "place", "frames")
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    INTERFACE_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    time_ns: int
    port: int
    interface: str
    place: str
    frames: int
    def __init__(self, time_ns: _Optional[int] = ..., port: _Optional[int] = ..., interface: _Optional[str] = ..., place: _Optional[str] = ..., frames: _Optional[int] = ...) -> None: ...

class WatchStatisticsRequest(_message.Message):
    __slots__ = ("interval_ms",)
    INTERVAL_MS_FIELD_NUMBER: _ClassVar[int]
    interval_ms: int
    def __init__(self, interval_ms: _Optional[int] = ...) -> None: ...

class Statistics(_message.Message):
    __slots__ = ("time_ns", "nic", "qps", "ports")
    class NicEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    NIC_FIELD_NUMBER: _ClassVar[int]
    QPS_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    time_ns: int
    nic: _containers.ScalarMap[str, int]
    qps: _containers.RepeatedCompositeFieldContainer[QpStatistics]
    ports: _containers.RepeatedCompositeFieldContainer[PortStatistics]
    def __init__(self, time_ns: _Optional[int] = ..., nic: _Optional[_Mapping[str, int]] = ..., qps: _Optional[_Iterable[_Union[QpStatistics, _Mapping]]] = ..., ports: _Optional[_Iterable[_Union[PortStatistics, _Mapping]]] = ...) -> None: ...

class QpStatistics(_message.Message):
    __slots__ = ("qpn", "state", "error", "counters", "smoothed_rtt_ns", "min_rtt_ns", "loss_delay_ns", "window_bytes", "inflight_bytes", "placement")
    class CountersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    QPN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    SMOOTHED_RTT_NS_FIELD_NUMBER: _ClassVar[int]
    MIN_RTT_NS_FIELD_NUMBER: _ClassVar[int]
    LOSS_DELAY_NS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_BYTES_FIELD_NUMBER: _ClassVar[int]
    INFLIGHT_BYTES_FIELD_NUMBER: _ClassVar[int]
    PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    qpn: int
    state: str
    error: str
    counters: _containers.ScalarMap[str, int]
    smoothed_rtt_ns: int
    min_rtt_ns: int
    loss_delay_ns: int
    window_bytes: int
    inflight_bytes: int
    placement: Placement
    def __init__(self, qpn: _Optional[int] = ..., state: _Optional[str] = ..., error: _Optional[str] = ..., counters: _Optional[_Mapping[str, int]] = ..., smoothed_rtt_ns: _Optional[int] = ..., min_rtt_ns: _Optional[int] = ..., loss_delay_ns: _Optional[int] = ..., window_bytes: _Optional[int] = ..., inflight_bytes: _Optional[int] = ..., placement: _Optional[_Union[Placement, _Mapping]] = ...) -> None: ...

class Placement(_message.Message):
    __slots__ = ("bytes", "first_ns", "last_ns", "longest")
    BYTES_FIELD_NUMBER: _ClassVar[int]
    FIRST_NS_FIELD_NUMBER: _ClassVar[int]
    LAST_NS_FIELD_NUMBER: _ClassVar[int]
    LONGEST_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    first_ns: int
    last_ns: int
    longest: _containers.RepeatedCompositeFieldContainer[Gap]
    def __init__(self, bytes: _Optional[int] = ..., first_ns: _Optional[int] = ..., last_ns: _Optional[int] = ..., longest: _Optional[_Iterable[_Union[Gap, _Mapping]]] = ...) -> None: ...

class Gap(_message.Message):
    __slots__ = ("begin_ns", "length_ns")
    BEGIN_NS_FIELD_NUMBER: _ClassVar[int]
    LENGTH_NS_FIELD_NUMBER: _ClassVar[int]
    begin_ns: int
    length_ns: int
    def __init__(self, begin_ns: _Optional[int] = ..., length_ns: _Optional[int] = ...) -> None: ...

class PortStatistics(_message.Message):
    __slots__ = ("port", "frames_received", "bytes_received", "frames_sent", "bytes_sent", "send_errors", "receive_errors", "socket_drops", "interface_drops")
    class SendErrorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class ReceiveErrorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    PORT_FIELD_NUMBER: _ClassVar[int]
    FRAMES_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    BYTES_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    FRAMES_SENT_FIELD_NUMBER: _ClassVar[int]
    BYTES_SENT_FIELD_NUMBER: _ClassVar[int]
    SEND_ERRORS_FIELD_NUMBER: _ClassVar[int]
    RECEIVE_ERRORS_FIELD_NUMBER: _ClassVar[int]
    SOCKET_DROPS_FIELD_NUMBER: _ClassVar[int]
    INTERFACE_DROPS_FIELD_NUMBER: _ClassVar[int]
    port: int
    frames_received: int
    bytes_received: int
    frames_sent: int
    bytes_sent: int
    send_errors: _containers.ScalarMap[str, int]
    receive_errors: _containers.ScalarMap[str, int]
    socket_drops: int
    interface_drops: int
    def __init__(self, port: _Optional[int] = ..., frames_received: _Optional[int] = ..., bytes_received: _Optional[int] = ..., frames_sent: _Optional[int] = ..., bytes_sent: _Optional[int] = ..., send_errors: _Optional[_Mapping[str, int]] = ..., receive_errors: _Optional[_Mapping[str, int]] = ..., socket_drops: _Optional[int] = ..., interface_drops: _Optional[int] = ...) -> None: ...

class EvList(_message.Message):
    __slots__ = ("evs",)
    EVS_FIELD_NUMBER: _ClassVar[int]
    evs: _containers.RepeatedCompositeFieldContainer[EvStatus]
    def __init__(self, evs: _Optional[_Iterable[_Union[EvStatus, _Mapping]]] = ...) -> None: ...

class EvStatus(_message.Message):
    __slots__ = ("ev", "plane", "uplink", "state", "in_use", "data_packets", "last_data_ns")
    EV_FIELD_NUMBER: _ClassVar[int]
    PLANE_FIELD_NUMBER: _ClassVar[int]
    UPLINK_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    IN_USE_FIELD_NUMBER: _ClassVar[int]
    DATA_PACKETS_FIELD_NUMBER: _ClassVar[int]
    LAST_DATA_NS_FIELD_NUMBER: _ClassVar[int]
    ev: int
    plane: int
    uplink: int
    state: str
    in_use: bool
    data_packets: int
    last_data_ns: int
    def __init__(self, ev: _Optional[int] = ..., plane: _Optional[int] = ..., uplink: _Optional[int] = ..., state: _Optional[str] = ..., in_use: bool = ..., data_packets: _Optional[int] = ..., last_data_ns: _Optional[int] = ...) -> None: ...

class EvRequest(_message.Message):
    __slots__ = ("qpn", "ev")
    QPN_FIELD_NUMBER: _ClassVar[int]
    EV_FIELD_NUMBER: _ClassVar[int]
    qpn: int
    ev: int
    def __init__(self, qpn: _Optional[int] = ..., ev: _Optional[int] = ...) -> None: ...

class PortList(_message.Message):
    __slots__ = ("ports",)
    PORTS_FIELD_NUMBER: _ClassVar[int]
    ports: _containers.RepeatedCompositeFieldContainer[PortStatus]
    def __init__(self, ports: _Optional[_Iterable[_Union[PortStatus, _Mapping]]] = ...) -> None: ...

class PortStatus(_message.Message):
    __slots__ = ("port", "interface", "usable", "mtu", "rate_bps", "rate_fps", "changes")
    PORT_FIELD_NUMBER: _ClassVar[int]
    INTERFACE_FIELD_NUMBER: _ClassVar[int]
    USABLE_FIELD_NUMBER: _ClassVar[int]
    MTU_FIELD_NUMBER: _ClassVar[int]
    RATE_BPS_FIELD_NUMBER: _ClassVar[int]
    RATE_FPS_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    port: int
    interface: str
    usable: bool
    mtu: int
    rate_bps: int
    rate_fps: int
    changes: int
    def __init__(self, port: _Optional[int] = ..., interface: _Optional[str] = ..., usable: bool = ..., mtu: _Optional[int] = ..., rate_bps: _Optional[int] = ..., rate_fps: _Optional[int] = ..., changes: _Optional[int] = ...) -> None: ...

class ExerciseRequest(_message.Message):
    __slots__ = ("kind", "lanes", "iterations", "depth", "duration_ns", "margin_ns")
    KIND_FIELD_NUMBER: _ClassVar[int]
    LANES_FIELD_NUMBER: _ClassVar[int]
    ITERATIONS_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    DURATION_NS_FIELD_NUMBER: _ClassVar[int]
    MARGIN_NS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    lanes: _containers.RepeatedCompositeFieldContainer[ExerciseLane]
    iterations: int
    depth: int
    duration_ns: int
    margin_ns: int
    def __init__(self, kind: _Optional[str] = ..., lanes: _Optional[_Iterable[_Union[ExerciseLane, _Mapping]]] = ..., iterations: _Optional[int] = ..., depth: _Optional[int] = ..., duration_ns: _Optional[int] = ..., margin_ns: _Optional[int] = ...) -> None: ...

class ExerciseLane(_message.Message):
    __slots__ = ("qpn", "region_id", "offset", "length", "remote_va", "rkey")
    QPN_FIELD_NUMBER: _ClassVar[int]
    REGION_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    REMOTE_VA_FIELD_NUMBER: _ClassVar[int]
    RKEY_FIELD_NUMBER: _ClassVar[int]
    qpn: int
    region_id: int
    offset: int
    length: int
    remote_va: int
    rkey: int
    def __init__(self, qpn: _Optional[int] = ..., region_id: _Optional[int] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ..., remote_va: _Optional[int] = ..., rkey: _Optional[int] = ...) -> None: ...

class ExerciseUpdate(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: ExerciseResult
    def __init__(self, result: _Optional[_Union[ExerciseResult, _Mapping]] = ...) -> None: ...

class ExerciseResult(_message.Message):
    __slots__ = ("error", "posted_ns", "completed_ns", "begin_ns", "end_ns", "counted")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    POSTED_NS_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_NS_FIELD_NUMBER: _ClassVar[int]
    BEGIN_NS_FIELD_NUMBER: _ClassVar[int]
    END_NS_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    error: str
    posted_ns: _containers.RepeatedScalarFieldContainer[int]
    completed_ns: _containers.RepeatedScalarFieldContainer[int]
    begin_ns: int
    end_ns: int
    counted: int
    def __init__(self, error: _Optional[str] = ..., posted_ns: _Optional[_Iterable[int]] = ..., completed_ns: _Optional[_Iterable[int]] = ..., begin_ns: _Optional[int] = ..., end_ns: _Optional[int] = ..., counted: _Optional[int] = ...) -> None: ...
