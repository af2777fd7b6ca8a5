// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Feature sets and matches between the wire and the domain.

#ifndef ORBSERVE_SERVER_RPC_CONVERSION_FEATURES_H_
#define ORBSERVE_SERVER_RPC_CONVERSION_FEATURES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "features/types.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve {

// The wire's enumerator of a kind of descriptors.
v1::DescriptorType DescriptorTypeToProto(Descriptor descriptor);

// A checked copy. BAD_REQUEST, TOO_LARGE.
absl::StatusOr<std::shared_ptr<const Features>> FeaturesFromProto(const v1::FeatureSet& proto);
void FeaturesToProto(const Features& features, v1::FeatureSet* proto);

void MatchesToProto(const Matches& matches, Descriptor kind, v1::MatchSet* proto);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CONVERSION_FEATURES_H_
