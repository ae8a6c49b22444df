# SPDX-License-Identifier: Apache-2.0
"""From the program's model to the Python source that runs it."""
