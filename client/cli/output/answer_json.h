// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Parts of answers that several commands write as JSON. docs/formats.md describes the keys.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_ANSWER_JSON_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_ANSWER_JSON_H_

#include "absl/status/status.h"
#include "client/cli/output/json_writer.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Adds `"error": {"code", "reason", "message"}`.
void AddError(const absl::Status& status, JsonWriter* json);

// Adds `"image_size": [width, height]`.
void AddImageSize(const v1::FeatureSet& features, JsonWriter* json);

// Adds `"suppression_passes"` if the features have it.
void AddPasses(const v1::FeatureSet& features, JsonWriter* json);

// Adds an array of numbers.
void AddNumbers(const char* key, const google::protobuf::RepeatedField<uint32_t>& numbers,
                JsonWriter* json);

// Adds the coordinates of the rows in `index`, as [[x, y], ...]; [] for a row that is not there.
void AddPoints(const char* key, const google::protobuf::RepeatedField<uint32_t>& index,
               const v1::FeatureSet& features, JsonWriter* json);

// Adds `"timings_ms": {...}`, `"batch_size"`, `"backend"`, `"device"` and, if the answer has it,
// `"energy_joules"`.
void AddExecution(const v1::FrameTimings& timings, const v1::Execution& execution,
                  JsonWriter* json);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_ANSWER_JSON_H_
