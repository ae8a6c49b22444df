#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Docker mounts /proc/sys read-only. Fabrics switch IPv6 autoconfiguration off in their own network
# namespaces, so the network's settings, and no others, become writable. Without CAP_SYS_ADMIN this
# is refused and nothing needs it: the virtual world has no interfaces.
set -eu
if [ ! -w /proc/sys/net/ipv6/conf/default/disable_ipv6 ]; then
    { mount --bind /proc/sys/net /proc/sys/net &&
        mount -o remount,bind,rw /proc/sys/net; } 2>/dev/null || true
fi
exec "$@"
