# SPDX-License-Identifier: Apache-2.0
"""A long run of random work under random faults in virtual time, and a look at what is left."""
