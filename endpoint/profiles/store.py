# SPDX-License-Identifier: Apache-2.0
"""All profiles of one NIC. Profile 0 of each kind is the NIC's own and always ONLINE."""

from __future__ import annotations

import errno
import random

from endpoint.api_error import MrcError
from endpoint.nic import Nic
from endpoint.profiles.cc_profile import CcProfile
from endpoint.profiles.ev_format import EvFormat
from endpoint.profiles.ev_profile import EvProfile
from endpoint.profiles.kinds import MRC_CTL_EV_GOOD, MRC_CTL_EV_MODE_AUTO, MRC_CTL_PROFILE_ONLINE

OWN_PROFILE = 0
MAX_FORMATS = 256
MAX_EV_PROFILES = 1024
MAX_CC_PROFILES = 256
MAX_EVS = 1 << 20
MAX_EVS_A_PROFILE = 4096


class ProfileStore:
    """Profiles come into being when they are first named, in INIT."""

    def __init__(self, nic: Nic) -> None:
        self.planes = nic.fabric.spec.planes
        self._rng = random.Random(f"profiles {nic.host_index}")
        own = EvProfile(OWN_PROFILE, self.planes, self._rng)
        own.state, own.mode, own.event_mask = (
            MRC_CTL_PROFILE_ONLINE,
            MRC_CTL_EV_MODE_AUTO,
            MRC_CTL_EV_GOOD & 0,
        )
        self.formats: dict[int, EvFormat] = {}
        self.evs: dict[int, EvProfile] = {OWN_PROFILE: own}
        self.ccs: dict[int, CcProfile] = {
            OWN_PROFILE: CcProfile(OWN_PROFILE, MRC_CTL_PROFILE_ONLINE, is_default=True)
        }

    def format(self, profile_id: int) -> EvFormat:
        """An EV format profile. MrcError(EINVAL) when there would be too many."""
        if profile_id not in self.formats:
            _check_new(profile_id, len(self.formats), MAX_FORMATS, "EV format")
            self.formats[profile_id] = EvFormat(profile_id)
        return self.formats[profile_id]

    def ev(self, profile_id: int) -> EvProfile:
        """An EV profile. MrcError(EINVAL) when there would be too many."""
        if profile_id not in self.evs:
            _check_new(profile_id, len(self.evs), MAX_EV_PROFILES, "EV")
            self.evs[profile_id] = EvProfile(profile_id, self.planes, self._rng)
        return self.evs[profile_id]

    def cc(self, profile_id: int) -> CcProfile:
        """A CC profile. MrcError(EINVAL) when there would be too many."""
        if profile_id not in self.ccs:
            _check_new(profile_id, len(self.ccs), MAX_CC_PROFILES, "CC")
            self.ccs[profile_id] = CcProfile(profile_id)
        return self.ccs[profile_id]

    @property
    def ev_count(self) -> int:
        """EVs in all profiles."""
        return sum(len(profile.entries) for profile in self.evs.values())

    def usable_ev(self, profile_id: int) -> EvProfile:
        """The EV profile that a queue pair asks for. MrcError(EINVAL) unless it is ONLINE."""
        profile = self.evs.get(profile_id)
        if profile is None or profile.state is not MRC_CTL_PROFILE_ONLINE:
            raise MrcError(errno.EINVAL, f"EV profile {profile_id} is not ONLINE")
        return profile

    def usable_cc(self, profile_id: int) -> CcProfile:
        """The CC profile that a queue pair asks for. MrcError(EINVAL) unless it is ONLINE."""
        profile = self.ccs.get(profile_id)
        if profile is None or profile.state is not MRC_CTL_PROFILE_ONLINE:
            raise MrcError(errno.EINVAL, f"CC profile {profile_id} is not ONLINE")
        return profile


def _check_new(profile_id: int, present: int, most: int, kind: str) -> None:
    if not 0 <= profile_id < 1 << 64:
        raise MrcError(errno.EINVAL, f"{kind} profile id {profile_id} is not 64 bits")
    if present >= most:
        raise MrcError(errno.EINVAL, f"{most} {kind} profiles are the most")
