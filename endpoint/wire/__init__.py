# SPDX-License-Identifier: Apache-2.0
"""MRC on the wire: header codecs, ICRC, frame builders and the frame parser.

Bytes go in, plain values come out; nothing here does I/O, keeps a clock or knows a fabric.

* one module a header: ``pack()`` and ``unpack(buffer, offset)``, every field checked and named;
* :mod:`endpoint.wire.build`: templates that build whole frames quickly;
* :mod:`endpoint.wire.frame`: the one parser that receivers use;
* :mod:`endpoint.wire.pcap`: captures with nanosecond stamps of a caller's clock.

``docs/wire-format.md`` has the packet tables and the decisions behind them.
"""
