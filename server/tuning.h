// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TUNING_H_
#define ORBSERVE_SERVER_TUNING_H_

namespace orbserve {

// Sets what the libraries of a busy server leave at the defaults of an ordinary program: memory of
// messages that were answered is kept for the next ones, and locks are not searched for cycles.
// For programs, at their start, before they have a second thread.
void TuneProcess();

// Gives the memory that is free inside glibc's heaps back to the system, where there is much of it:
// a heap shrinks by itself only from its end. Takes up to a second, in which other threads wait for
// memory. Whether it did.
bool TrimMemory();

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TUNING_H_
