# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of ROS 2 for `orbserve.ros2` and `orbserve.bag`, without a ROS installation."""
