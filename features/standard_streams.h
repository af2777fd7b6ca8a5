// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_FEATURES_STANDARD_STREAMS_H_
#define ORBSERVE_FEATURES_STANDARD_STREAMS_H_

namespace orbserve {

// Takes the descriptors 0, 1 and 2 where the program was started without them. A connection would
// get one otherwise, and lines of the log, or features, would be written into it. Reads and writes
// go on to fail. Called before anything else is opened.
void ReserveStandardStreams();

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_STANDARD_STREAMS_H_
