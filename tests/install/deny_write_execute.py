#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program as MemoryDenyWriteExecute=yes of the systemd unit does, on machines without systemd: the kernel refuses memory
that is writable and executable at once, and memory that becomes executable later. It shows whether a driver of CUDA can do
with that, compilation of PTX by the driver included:

  deny_write_execute.py orbserve extract --backend cuda PHOTO
  CUDA_FORCE_PTX_JIT=1 CUDA_CACHE_DISABLE=1 deny_write_execute.py orbserve extract --backend cuda PHOTO

Exit code: that of the program; 2 where the filter cannot be set.
"""

import ctypes
import os
import platform
import struct
import sys

# Each machine has its number in seccomp's data, and its numbers of the system calls mmap, mprotect, pkey_mprotect, shmat.
MACHINES = {"x86_64": (0xC000003E, 9, 10, 329, 30), "aarch64": (0xC00000B7, 222, 226, 288, 196)}
PROT_WRITE, PROT_EXEC, SHM_EXEC = 2, 4, 0o100000
EPERM = 1

# linux/seccomp.h, linux/prctl.h
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | EPERM, 0x80000000
CALL_AT, MACHINE_AT, ARGUMENTS_AT = 0, 4, 16

# linux/bpf_common.h
LOAD, AND, IF_EQUAL, RETURN = 0x20, 0x54, 0x15, 0x06


def refuse_where(call, argument, bits):
  """Instructions that refuse `call` where all `bits` are set in its argument."""
  return [
      (LOAD, 0, 0, CALL_AT),
      (IF_EQUAL, 0, 4, call),
      (LOAD, 0, 0, ARGUMENTS_AT + 8 * argument),
      (AND, 0, 0, bits),
      (IF_EQUAL, 0, 1, bits),
      (RETURN, 0, 0, REFUSE),
  ]


def instructions(machine, mmap, mprotect, pkey_mprotect, shmat):
  program = [(LOAD, 0, 0, MACHINE_AT), (IF_EQUAL, 1, 0, machine), (RETURN, 0, 0, KILL)]
  program += refuse_where(mmap, 2, PROT_WRITE | PROT_EXEC)
  program += refuse_where(mprotect, 2, PROT_EXEC)
  program += refuse_where(pkey_mprotect, 2, PROT_EXEC)
  program += refuse_where(shmat, 2, SHM_EXEC)
  return program + [(RETURN, 0, 0, ALLOW)]


def main():
  if len(sys.argv) < 2 or platform.machine() not in MACHINES:
    print(__doc__ if len(sys.argv) < 2 else f"deny_write_execute: not for {platform.machine()}", file=sys.stderr)
    return 2
  program = instructions(*MACHINES[platform.machine()])
  code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in program))
  filter_program = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
  prctl = ctypes.CDLL(None, use_errno=True).prctl
  if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_program, 0, 0) != 0:
    print(f"deny_write_execute: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
    return 2
  os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
  sys.exit(main())
