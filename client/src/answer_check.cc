// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/answer_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

// Passes an error on.
#define ORBSERVE_RETURN_IF_WRONG(expression)                          \
  do {                                                                \
    if (absl::Status wrong = (expression); !wrong.ok()) return wrong; \
  } while (false)

namespace orbserve::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::RepeatedField;

// Bounds of orbserve.proto.
constexpr int kMaxRows = 100'000;
constexpr uint32_t kMaxSidePx = 32'767;
constexpr int kMaxLevels = 16;
constexpr uint32_t kMaxOctaveLayers = 8;
constexpr uint32_t kMaxDistance = 8'323'200;  // of SIFT
constexpr int kMaxNeighbours = 16;            // matches of one query row
constexpr size_t kMaxReferenceNameBytes = 128;
constexpr int kMaxPageSize = 1000;
constexpr uint32_t kMaxBatch = 256;
constexpr uint32_t kMaxLane = 15;
constexpr float kMaxResidual = 128;
constexpr float kMinGain = 0.0625f;
constexpr float kMaxGain = 1.9375f;
constexpr int kMaxStatusCode = 16;
// Texts and lists without a bound of their own: those that a server takes of its clients. Its own
// are far below.
constexpr size_t kMaxTextBytes = 4096;
constexpr int kMaxEntries = 1024;

absl::Status Wrong(absl::string_view field, absl::string_view given, absl::string_view allowed) {
  return absl::DataLossError(absl::StrCat("the server's answer is wrong: ", std::string(field),
                                          " is ", std::string(given),
                                          "; allowed: ", std::string(allowed)));
}

std::string Join(absl::string_view where, absl::string_view field) {
  return where.empty() ? std::string(field)
                       : absl::StrCat(std::string(where), ".", std::string(field));
}

template <typename T>
std::string RangeText(T low, T high) {
  return absl::StrCat(low, " to ", high);
}

// NaN fails both comparisons.
template <typename T>
absl::Status CheckRange(absl::string_view where, absl::string_view field, T value, T low, T high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return Wrong(Join(where, field), absl::StrCat(value), RangeText(low, high));
}

absl::Status CheckCount(absl::string_view where, absl::string_view field, int count, int low,
                        int high) {
  if (count >= low && count <= high) return absl::OkStatus();
  return Wrong(Join(where, field), absl::StrCat("a list of ", count),
               low == high ? absl::StrCat(low) : RangeText(low, high));
}

// Checks the length of a column with one row for each of the `rows` of x.
absl::Status CheckLength(absl::string_view where, absl::string_view field, int length, int rows) {
  return CheckCount(where, field, length, rows, rows);
}

// `is_allowed` gets one value.
template <typename T, typename IsAllowed>
absl::Status CheckColumn(absl::string_view where, absl::string_view field,
                         const RepeatedField<T>& column, absl::string_view allowed,
                         const IsAllowed& is_allowed) {
  const auto bad = std::find_if_not(column.begin(), column.end(), is_allowed);
  if (bad == column.end()) return absl::OkStatus();
  return Wrong(absl::StrCat(Join(where, field), "[", bad - column.begin(), "]"), absl::StrCat(*bad),
               allowed);
}

template <typename T>
absl::Status CheckColumnRange(absl::string_view where, absl::string_view field,
                              const RepeatedField<T>& column, T low, T high) {
  return CheckColumn(where, field, column, RangeText(low, high),
                     [low, high](T value) { return value >= low && value <= high; });
}

absl::Status CheckFiniteColumn(absl::string_view where, absl::string_view field,
                               const RepeatedField<float>& column) {
  return CheckColumn(where, field, column, "finite numbers",
                     [](float value) { return std::isfinite(value); });
}

// Checks a message without columns, and those in it: finite numbers, texts and lists of a bearable
// length.
absl::Status CheckPlain(absl::string_view where, const Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    const std::string name = Join(where, field->name());
    const bool is_list = field->is_repeated();
    const int count = is_list ? reflection.FieldSize(message, field) : 1;
    ORBSERVE_RETURN_IF_WRONG(CheckCount("", name, count, 0, kMaxEntries));
    for (int i = 0; i < count; ++i) {
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_FLOAT:
        case FieldDescriptor::CPPTYPE_DOUBLE: {
          const bool is_float = field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
          const double value = is_float ? (is_list ? reflection.GetRepeatedFloat(message, field, i)
                                                   : reflection.GetFloat(message, field))
                                        : (is_list ? reflection.GetRepeatedDouble(message, field, i)
                                                   : reflection.GetDouble(message, field));
          if (!std::isfinite(value)) return Wrong(name, absl::StrCat(value), "a finite number");
          break;
        }
        case FieldDescriptor::CPPTYPE_STRING: {
          const size_t bytes = (is_list ? reflection.GetRepeatedString(message, field, i)
                                        : reflection.GetString(message, field))
                                   .size();
          if (bytes > kMaxTextBytes) {
            return Wrong(name, absl::StrCat("a text of ", bytes, " bytes"),
                         absl::StrCat("up to ", kMaxTextBytes));
          }
          break;
        }
        case FieldDescriptor::CPPTYPE_MESSAGE:
          ORBSERVE_RETURN_IF_WRONG(
              CheckPlain(name, is_list ? reflection.GetRepeatedMessage(message, field, i)
                                       : reflection.GetMessage(message, field)));
          break;
        default:
          break;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckExecution(const v1::Execution& execution) {
  ORBSERVE_RETURN_IF_WRONG(CheckPlain("execution", execution));
  ORBSERVE_RETURN_IF_WRONG(
      CheckRange("execution", "batch_size", execution.batch_size(), 0u, kMaxBatch));
  ORBSERVE_RETURN_IF_WRONG(CheckRange("execution", "lane", execution.lane(), 0u, kMaxLane));
  return CheckRange("execution", "energy_joules", execution.energy_joules(), 0.0,
                    std::numeric_limits<double>::max());
}

absl::Status CheckTimes(const v1::FrameTimings& timings, const v1::Execution& execution) {
  ORBSERVE_RETURN_IF_WRONG(CheckPlain("timings", timings));
  return CheckExecution(execution);
}

// Checks an entry of the table of errors.
absl::Status CheckEntry(absl::string_view where, const v1::Status& status) {
  ORBSERVE_RETURN_IF_WRONG(CheckPlain(where, status));
  return CheckRange(where, "code", status.code(), 0, kMaxStatusCode);
}

// Facts of a request that its features depend on.
struct FeatureRules {
  uint32_t width_px = 0;  // of the image; 0 = not known
  uint32_t height_px = 0;
  std::optional<int> given_keypoints;  // rows of the request's columns; no value: detected
};

FeatureRules RulesOf(const v1::Frame& frame) {
  FeatureRules rules{.width_px = frame.width_px(), .height_px = frame.height_px()};
  if (frame.has_keypoints()) rules.given_keypoints = frame.keypoints().x_size();
  return rules;
}

// Bytes of descriptors of this kind; -1 for a kind that is not known here.
int BytesOf(v1::DescriptorType type) {
  switch (type) {
    case v1::DESCRIPTOR_TYPE_NONE:
      return 0;
    case v1::DESCRIPTOR_TYPE_RBRIEF_32:
      return 4;
    case v1::DESCRIPTOR_TYPE_RBRIEF_256:
    case v1::DESCRIPTOR_TYPE_BFROST_256:
    case v1::DESCRIPTOR_TYPE_TEBLID_256:
    case v1::DESCRIPTOR_TYPE_BEBLID_256:
      return 32;
    case v1::DESCRIPTOR_TYPE_TEBLID_512:
    case v1::DESCRIPTOR_TYPE_BEBLID_512:
      return 64;
    case v1::DESCRIPTOR_TYPE_SIFT:
    case v1::DESCRIPTOR_TYPE_ROOT_SIFT:
    case v1::DESCRIPTOR_TYPE_L1_ROOT_SIFT:
      return 128;
    default:
      return -1;
  }
}

absl::Status CheckDescriptors(absl::string_view where, const v1::FeatureSet& features) {
  const uint32_t bytes = features.descriptor_bytes();
  if (bytes != 0 && bytes != 4 && bytes != 32 && bytes != 64 && bytes != 128) {
    return Wrong(Join(where, "descriptor_bytes"), absl::StrCat(bytes), "0, 4, 32, 64 or 128");
  }
  const int of_type = BytesOf(features.descriptor_type());
  if (of_type >= 0 && bytes != static_cast<uint32_t>(of_type)) {
    return Wrong(
        Join(where, "descriptor_bytes"), absl::StrCat(bytes),
        absl::StrCat(of_type, ", those of ", v1::DescriptorType_Name(features.descriptor_type())));
  }
  const size_t expected = static_cast<size_t>(features.x_size()) * bytes;
  if (features.descriptors().size() == expected) return absl::OkStatus();
  return Wrong(Join(where, "descriptors"),
               absl::StrCat("a text of ", features.descriptors().size(), " bytes"),
               absl::StrCat(expected, ", for ", features.x_size(), " rows of ", bytes));
}

absl::Status CheckSide(absl::string_view where, absl::string_view field, uint32_t side_px,
                       uint32_t known_px, bool has_rows) {
  if (known_px > 0) return CheckRange(where, field, side_px, known_px, known_px);
  return CheckRange(where, field, side_px, has_rows ? 1u : 0u, kMaxSidePx);
}

absl::Status CheckFeatures(absl::string_view where, const FeatureRules& rules,
                           const v1::FeatureSet& features) {
  const int rows = features.x_size();
  const bool is_given = rules.given_keypoints.has_value();
  ORBSERVE_RETURN_IF_WRONG(CheckCount(
      where, "x", rows, 0, std::min(rules.given_keypoints.value_or(kMaxRows), kMaxRows)));
  ORBSERVE_RETURN_IF_WRONG(CheckLength(where, "y", features.y_size(), rows));
  ORBSERVE_RETURN_IF_WRONG(CheckLength(where, "size", features.size_size(), rows));
  ORBSERVE_RETURN_IF_WRONG(CheckLength(where, "angle", features.angle_size(), rows));
  ORBSERVE_RETURN_IF_WRONG(CheckLength(where, "response", features.response_size(), rows));
  ORBSERVE_RETURN_IF_WRONG(CheckLength(where, "octave", features.octave_size(), rows));
  ORBSERVE_RETURN_IF_WRONG(
      CheckLength(where, "source_index", features.source_index_size(), is_given ? rows : 0));
  ORBSERVE_RETURN_IF_WRONG(
      CheckSide(where, "image_width_px", features.image_width_px(), rules.width_px, rows > 0));
  ORBSERVE_RETURN_IF_WRONG(
      CheckSide(where, "image_height_px", features.image_height_px(), rules.height_px, rows > 0));
  ORBSERVE_RETURN_IF_WRONG(CheckColumnRange(where, "x", features.x(), 0.0f,
                                            static_cast<float>(features.image_width_px())));
  ORBSERVE_RETURN_IF_WRONG(CheckColumnRange(where, "y", features.y(), 0.0f,
                                            static_cast<float>(features.image_height_px())));
  if (is_given) {
    ORBSERVE_RETURN_IF_WRONG(CheckFiniteColumn(where, "size", features.size()));
    ORBSERVE_RETURN_IF_WRONG(CheckColumnRange(where, "angle", features.angle(), -720.0f, 720.0f));
    const auto given = static_cast<uint32_t>(*rules.given_keypoints);
    ORBSERVE_RETURN_IF_WRONG(CheckColumn(where, "source_index", features.source_index(),
                                         absl::StrCat("below ", given),
                                         [given](uint32_t row) { return row < given; }));
  } else {
    ORBSERVE_RETURN_IF_WRONG(
        CheckColumnRange(where, "size", features.size(), 0.0f, std::numeric_limits<float>::max()));
    ORBSERVE_RETURN_IF_WRONG(CheckColumn(
        where, "angle", features.angle(), "-1, or 0 to below 360",
        [](float angle) { return angle == -1.0f || (angle >= 0.0f && angle < 360.0f); }));
  }
  ORBSERVE_RETURN_IF_WRONG(CheckFiniteColumn(where, "response", features.response()));
  // The detector SIFT alone has layers, and a doubled image.
  const int layers = features.layer_size() > 0 ? rows : 0;
  ORBSERVE_RETURN_IF_WRONG(CheckLength(where, "layer", features.layer_size(), layers));
  ORBSERVE_RETURN_IF_WRONG(
      CheckLength(where, "layer_fraction", features.layer_fraction_size(), layers));
  ORBSERVE_RETURN_IF_WRONG(
      CheckColumnRange(where, "layer", features.layer(), 1u, kMaxOctaveLayers));
  ORBSERVE_RETURN_IF_WRONG(
      CheckColumnRange(where, "layer_fraction", features.layer_fraction(), 0u, 255u));
  ORBSERVE_RETURN_IF_WRONG(
      CheckColumnRange(where, "octave", features.octave(), layers > 0 ? -1 : 0, kMaxLevels - 1));
  if (features.has_suppression_passes()) {
    ORBSERVE_RETURN_IF_WRONG(CheckRange(where, "suppression_passes", features.suppression_passes(),
                                        1u, static_cast<uint32_t>(INT32_MAX)));
  }
  return CheckDescriptors(where, features);
}

absl::Status CheckMatchSet(absl::string_view where, const v1::MatchSet& matches, int query_count,
                           int train_count) {
  const int rows = matches.query_index_size();
  ORBSERVE_RETURN_IF_WRONG(CheckLength(where, "train_index", matches.train_index_size(), rows));
  ORBSERVE_RETURN_IF_WRONG(CheckLength(where, "distance", matches.distance_size(), rows));
  const auto check_rows = [where](absl::string_view field, const RepeatedField<uint32_t>& column,
                                  int count) {
    const auto end = static_cast<uint32_t>(count);
    return CheckColumn(where, field, column, absl::StrCat("below ", end),
                       [end](uint32_t row) { return row < end; });
  };
  ORBSERVE_RETURN_IF_WRONG(check_rows("query_index", matches.query_index(), query_count));
  ORBSERVE_RETURN_IF_WRONG(check_rows("train_index", matches.train_index(), train_count));
  ORBSERVE_RETURN_IF_WRONG(
      CheckColumnRange(where, "distance", matches.distance(), 0u, kMaxDistance));
  int neighbours = 1;  // of the query row, so far
  for (int i = 1; i < rows; ++i) {
    const uint32_t before = matches.query_index(i - 1);
    const uint32_t query = matches.query_index(i);
    neighbours = query == before ? neighbours + 1 : 1;
    if (query < before) {
      return Wrong(absl::StrCat(Join(where, "query_index"), "[", i, "]"), absl::StrCat(query),
                   absl::StrCat(before, " or more, as matches are ordered by it"));
    }
    if (neighbours > kMaxNeighbours) {
      return Wrong(absl::StrCat(Join(where, "query_index"), "[", i, "]"),
                   absl::StrCat("the ", neighbours, "th match of row ", query),
                   absl::StrCat("up to ", kMaxNeighbours));
    }
    if (query == before && matches.distance(i) < matches.distance(i - 1)) {
      return Wrong(absl::StrCat(Join(where, "distance"), "[", i, "]"),
                   absl::StrCat(matches.distance(i)),
                   absl::StrCat(matches.distance(i - 1),
                                " or more, as the matches of a row are ordered by it"));
    }
  }
  return absl::OkStatus();
}

// Checks the features of a side that was given as an image, or that there are none.
absl::Status CheckSideFeatures(absl::string_view where, const v1::Frame* frame, bool has_features,
                               const v1::FeatureSet& features) {
  if (frame == nullptr && has_features) {
    return Wrong(where, "set", "not set, as this side was not an image");
  }
  if (frame != nullptr && !has_features) {
    return Wrong(where, "not set", "set, as this side was an image");
  }
  return frame == nullptr ? absl::OkStatus() : CheckFeatures(where, RulesOf(*frame), features);
}

absl::Status CheckReferenceName(absl::string_view field, absl::string_view name) {
  const bool is_printable = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isprint(static_cast<unsigned char>(c));
  });
  if (!name.empty() && name.size() <= kMaxReferenceNameBytes && is_printable) {
    return absl::OkStatus();
  }
  return Wrong(field,
               absl::StrCat("a text of ", name.size(), " bytes",
                            is_printable ? "" : " with others than printable ASCII"),
               absl::StrCat("1 to ", kMaxReferenceNameBytes, " bytes of printable ASCII"));
}

absl::Status CheckReference(absl::string_view where, const v1::ReferenceInfo& info) {
  ORBSERVE_RETURN_IF_WRONG(CheckReferenceName(Join(where, "name"), info.name()));
  ORBSERVE_RETURN_IF_WRONG(CheckRange(where, "version", info.version(), uint64_t{1},
                                      std::numeric_limits<uint64_t>::max()));
  ORBSERVE_RETURN_IF_WRONG(CheckRange(where, "feature_count", info.feature_count(), 0u,
                                      static_cast<uint32_t>(kMaxRows)));
  const uint32_t bytes = info.descriptor_bytes();
  if (bytes == 4 || bytes == 32 || bytes == 64) return absl::OkStatus();
  return Wrong(Join(where, "descriptor_bytes"), absl::StrCat(bytes), "4, 32 or 64");
}

// The answer's number and time of a frame are those of the request.
absl::Status CheckNumber(absl::string_view where, uint64_t sequence, int64_t timestamp_ns,
                         uint64_t sent_sequence, int64_t sent_timestamp_ns) {
  if (sequence != sent_sequence) {
    return Wrong(Join(where, "sequence"), absl::StrCat(sequence),
                 absl::StrCat(sent_sequence, ", that of the oldest frame without an answer"));
  }
  if (timestamp_ns == sent_timestamp_ns) return absl::OkStatus();
  return Wrong(Join(where, "timestamp_ns"), absl::StrCat(timestamp_ns),
               absl::StrCat(sent_timestamp_ns, ", that of the frame"));
}

}  // namespace

absl::Status CheckExtractAnswer(const v1::ExtractRequest& request,
                                const v1::ExtractResponse& response) {
  ORBSERVE_RETURN_IF_WRONG(CheckNumber("", response.sequence(), response.timestamp_ns(),
                                       request.frame().sequence(), request.frame().timestamp_ns()));
  if (!response.has_features()) return Wrong("features", "not set", "set");
  ORBSERVE_RETURN_IF_WRONG(CheckTimes(response.timings(), response.execution()));
  return CheckFeatures("features", RulesOf(request.frame()), response.features());
}

absl::Status CheckMatchAnswer(const v1::MatchRequest& request, const v1::MatchResponse& response) {
  ORBSERVE_RETURN_IF_WRONG(CheckTimes(response.timings(), response.execution()));
  ORBSERVE_RETURN_IF_WRONG(CheckSideFeatures(
      "query_features", request.has_query_frame() ? &request.query_frame() : nullptr,
      response.has_query_features(), response.query_features()));
  ORBSERVE_RETURN_IF_WRONG(CheckSideFeatures(
      "train_features", request.has_train_frame() ? &request.train_frame() : nullptr,
      response.has_train_features(), response.train_features()));
  const int query_count = request.has_query_frame() ? response.query_features().x_size()
                                                    : request.query_features().x_size();
  // A reference's own count is not known here.
  const int train_count = request.has_train_frame()      ? response.train_features().x_size()
                          : request.has_train_features() ? request.train_features().x_size()
                                                         : kMaxRows;
  return CheckMatchSet("matches", response.matches(), query_count, train_count);
}

absl::Status CheckPutReferenceAnswer(const v1::PutReferenceRequest& request,
                                     const v1::PutReferenceResponse& response) {
  ORBSERVE_RETURN_IF_WRONG(CheckTimes(response.timings(), response.execution()));
  ORBSERVE_RETURN_IF_WRONG(CheckReference("reference", response.reference()));
  if (response.reference().name() != request.name()) {
    return Wrong("reference.name", response.reference().name(), request.name());
  }
  ORBSERVE_RETURN_IF_WRONG(
      CheckCount("", "evicted", response.evicted_size(), 0, kMaxListedReferences));
  for (int i = 0; i < response.evicted_size(); ++i) {
    ORBSERVE_RETURN_IF_WRONG(
        CheckReferenceName(absl::StrCat("evicted[", i, "]"), response.evicted(i)));
  }
  return absl::OkStatus();
}

absl::Status CheckReferencesPage(const v1::ListReferencesRequest& request,
                                 absl::string_view last_name,
                                 const v1::ListReferencesResponse& response) {
  const int page_size =
      request.page_size() == 0 ? kMaxPageSize : static_cast<int>(request.page_size());
  const int count = response.references_size();
  ORBSERVE_RETURN_IF_WRONG(CheckCount("", "references", count, 0, page_size));
  for (int i = 0; i < count; ++i) {
    const v1::ReferenceInfo& info = response.references(i);
    const std::string where = absl::StrCat("references[", i, "]");
    ORBSERVE_RETURN_IF_WRONG(CheckReference(where, info));
    const absl::string_view before =
        i == 0 ? last_name : absl::string_view(response.references(i - 1).name());
    if (absl::string_view(info.name()) <= before) {
      return Wrong(Join(where, "name"), info.name(),
                   absl::StrCat("names behind ", std::string(before), ", as they are sorted"));
    }
  }
  if (response.next_page_token().size() > kMaxTextBytes) {
    return Wrong("next_page_token",
                 absl::StrCat("a text of ", response.next_page_token().size(), " bytes"),
                 absl::StrCat("up to ", kMaxTextBytes));
  }
  if (count == 0 && !response.next_page_token().empty()) {
    return Wrong("next_page_token", "set on a page without references",
                 "not set, as pages have to come to an end");
  }
  return absl::OkStatus();
}

absl::Status CheckServerInfoAnswer(const v1::GetServerInfoResponse& response) {
  ORBSERVE_RETURN_IF_WRONG(CheckPlain("", response));
  const v1::ServerLimits& limits = response.limits();
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  struct Row {
    const char* field;
    uint64_t value;
    uint64_t high;
  };
  // 0 comes from a server that lacks the field. Lower bounds have no consequence here.
  for (const Row& row :
       {Row{"max_side_px", limits.max_side_px(), kMaxSidePx},
        Row{"max_pixels", limits.max_pixels(), uint64_t{1} << 30},
        Row{"max_message_bytes", limits.max_message_bytes(), 1024 * kMiB},
        Row{"max_keypoints", limits.max_keypoints(), kMaxRows},
        Row{"max_levels", limits.max_levels(), kMaxLevels},
        Row{"max_batch", limits.max_batch(), kMaxBatch},
        Row{"max_queue_delay_us", limits.max_queue_delay_us(), 1'000'000},
        Row{"max_queue_frames", limits.max_queue_frames(), 100'000},
        Row{"max_queue_frames_per_client", limits.max_queue_frames_per_client(), 100'000},
        Row{"max_streams", limits.max_streams(), 100'000},
        Row{"max_reference_bytes", limits.max_reference_bytes(), kMiB * kMiB},
        Row{"max_references", limits.max_references(), kMaxListedReferences}}) {
    ORBSERVE_RETURN_IF_WRONG(CheckRange("limits", row.field, row.value, uint64_t{0}, row.high));
  }
  return absl::OkStatus();
}

void StreamCheck::Sent(const v1::StreamFramesRequest& request) {
  Expected& next = expected_.emplace_back();
  if (request.has_open()) {
    v1::StreamOpen& open = next.open.emplace();
    open.set_match_previous(request.open().match_previous());
    open.set_match_keyframe(request.open().match_keyframe());
    open.set_track(request.open().track());
    *open.mutable_references() = request.open().references();
    return;
  }
  const v1::Frame& frame = request.frame();
  next.sequence = frame.sequence();
  next.timestamp_ns = frame.timestamp_ns();
  next.width_px = frame.width_px();
  next.height_px = frame.height_px();
  if (frame.has_keypoints()) next.given_keypoints = frame.keypoints().x_size();
}

absl::Status StreamCheck::Take(const v1::StreamFramesResponse& response) {
  switch (response.message_case()) {
    case v1::StreamFramesResponse::kOpened:
      return TakeOpened(response.opened());
    case v1::StreamFramesResponse::kResult:
      return TakeResult(response.result());
    case v1::StreamFramesResponse::kGoingAway:
      if (!is_opened_) return Wrong("message", "going_away", "opened, as the first one");
      if (std::exchange(going_away_, true)) {
        return Wrong("message", "a second going_away", "one in a stream");
      }
      ORBSERVE_RETURN_IF_WRONG(CheckEntry("going_away.status", response.going_away().status()));
      return CheckRange("going_away.status", "code", response.going_away().status().code(), 1,
                        kMaxStatusCode);
    default:
      return Wrong("message", "not set", "opened, result or going_away");
  }
}

absl::Status StreamCheck::TakeOpened(const v1::StreamOpened& opened) {
  if (expected_.empty() || !expected_.front().open.has_value()) {
    return Wrong("message", "opened",
                 expected_.empty() ? "none, as every open and every frame is answered"
                                   : "the result of a frame that was sent before any other open");
  }
  open_ = *std::move(expected_.front().open);
  expected_.pop_front();
  is_opened_ = true;
  ORBSERVE_RETURN_IF_WRONG(CheckPlain("opened", opened));
  ORBSERVE_RETURN_IF_WRONG(
      CheckRange("opened", "max_in_flight", opened.max_in_flight(), 1u, kMaxBatch));
  return CheckRange("opened", "max_waiting", opened.max_waiting(), 0u, kMaxBatch);
}

absl::Status StreamCheck::TakeResult(const v1::FrameResult& result) {
  if (expected_.empty() || expected_.front().open.has_value()) {
    return Wrong("message", absl::StrCat("the result of frame ", result.sequence()),
                 expected_.empty() ? "none, as every frame is answered"
                                   : "opened, as the open came before the next frame");
  }
  const Expected frame = std::move(expected_.front());
  expected_.pop_front();
  ORBSERVE_RETURN_IF_WRONG(CheckNumber("result", result.sequence(), result.timestamp_ns(),
                                       frame.sequence, frame.timestamp_ns));
  ORBSERVE_RETURN_IF_WRONG(CheckEntry("result.status", result.status()));
  ORBSERVE_RETURN_IF_WRONG(CheckTimes(result.timings(), result.execution()));
  if (result.has_features()) {
    ORBSERVE_RETURN_IF_WRONG(CheckFeatures("result.features",
                                           {.width_px = frame.width_px,
                                            .height_px = frame.height_px,
                                            .given_keypoints = frame.given_keypoints},
                                           result.features()));
  }
  ORBSERVE_RETURN_IF_WRONG(CheckFrameMatches(result));
  ORBSERVE_RETURN_IF_WRONG(CheckTracks(frame, result));
  NoteTarget(result);
  return absl::OkStatus();
}

void StreamCheck::NoteTarget(const v1::FrameResult& result) {
  const auto note = [&result](Target* target) {
    *target = {};
    if (result.has_features()) *target = {result.sequence(), result.features().x_size()};
  };
  if (result.status().code() == 0) {
    note(&previous_);
    if (result.keyframe()) note(&keyframe_);
    return;
  }
  // The answer may have been late only. Then the frame may be a target, and has no features here.
  for (Target* const target : {&previous_, &keyframe_}) {
    if (target->sequence == result.sequence()) *target = {};
  }
}

absl::Status StreamCheck::CheckFrameMatches(const v1::FrameResult& result) const {
  // PREVIOUS comes before KEYFRAME, and both before the references in the order of `open`.
  int last = -1;
  for (int i = 0; i < result.matches_size(); ++i) {
    const v1::FrameMatches& matches = result.matches(i);
    const std::string where = absl::StrCat("result.matches[", i, "]");
    int place = -1;
    if (matches.target() == v1::MATCH_TARGET_PREVIOUS && open_.match_previous()) {
      place = 0;
    } else if (matches.target() == v1::MATCH_TARGET_KEYFRAME && open_.match_keyframe()) {
      place = 1;
    } else if (matches.target() == v1::MATCH_TARGET_REFERENCE) {
      const auto& names = open_.references();
      // A name may stand twice in `open`.
      for (int at = std::max(last - 1, 0); at < names.size() && place < 0; ++at) {
        if (names[at] == matches.reference()) place = at + 2;
      }
    }
    if (place <= last) {
      return Wrong(Join(where, "target"),
                   absl::StrCat(static_cast<int>(matches.target()), " (",
                                v1::MatchTarget_Name(matches.target()), ")"),
                   "the targets that the stream asked for, each once, in their order");
    }
    last = place;
    ORBSERVE_RETURN_IF_WRONG(CheckEntry(Join(where, "status"), matches.status()));
    // The features of the frame are not known with `omit_features`, those of the target where its
    // answer was late or another frame.
    const int query_count = result.has_features() ? result.features().x_size() : kMaxRows;
    const Target& target = place == 0 ? previous_ : keyframe_;
    const bool is_known = place <= 1 && target.sequence == matches.target_sequence();
    ORBSERVE_RETURN_IF_WRONG(CheckMatchSet(Join(where, "matches"), matches.matches(), query_count,
                                           is_known ? target.count : kMaxRows));
  }
  return absl::OkStatus();
}

absl::Status StreamCheck::CheckTracks(const Expected& frame, const v1::FrameResult& result) const {
  const int most = open_.track() ? kMaxRows : 0;
  ORBSERVE_RETURN_IF_WRONG(CheckCount("result", "tracks", result.tracks_size(), 0, most));
  const auto side = [](uint32_t answered_px, uint32_t sent_px) {
    const uint32_t px = answered_px > 0 ? answered_px : sent_px;
    return static_cast<float>(px > 0 ? px : kMaxSidePx);
  };
  const float width = side(result.features().image_width_px(), frame.width_px);
  const float height = side(result.features().image_height_px(), frame.height_px);
  const auto check_id = [](absl::string_view where, uint64_t id, uint64_t before) {
    if (id > before) return absl::OkStatus();
    return Wrong(Join(where, "id"), absl::StrCat(id),
                 absl::StrCat("above ", before, ", as ids go up"));
  };
  uint64_t before = 0;
  for (int i = 0; i < result.tracks_size(); ++i) {
    const v1::Track& track = result.tracks(i);
    const std::string where = absl::StrCat("result.tracks[", i, "]");
    ORBSERVE_RETURN_IF_WRONG(check_id(where, track.id(), before));
    before = track.id();
    ORBSERVE_RETURN_IF_WRONG(CheckRange(where, "x", track.x(), 0.0f, width));
    ORBSERVE_RETURN_IF_WRONG(CheckRange(where, "y", track.y(), 0.0f, height));
    ORBSERVE_RETURN_IF_WRONG(CheckRange(where, "residual", track.residual(), 0.0f, kMaxResidual));
    ORBSERVE_RETURN_IF_WRONG(CheckRange(where, "gain", track.gain(), kMinGain, kMaxGain));
    constexpr float kFinite = std::numeric_limits<float>::max();
    ORBSERVE_RETURN_IF_WRONG(CheckRange(where, "offset", track.offset(), -kFinite, kFinite));
  }
  before = 0;
  for (int i = 0; i < result.ended_tracks_size(); ++i) {
    const v1::EndedTrack& ended = result.ended_tracks(i);
    const std::string where = absl::StrCat("result.ended_tracks[", i, "]");
    ORBSERVE_RETURN_IF_WRONG(check_id(where, ended.id(), before));
    before = ended.id();
    if (ended.reason() == v1::TRACK_END_UNSPECIFIED) {
      return Wrong(Join(where, "reason"), "not set", "set");
    }
  }
  return absl::OkStatus();
}

}  // namespace orbserve::client
