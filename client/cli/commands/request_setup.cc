// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/request_setup.h"

#include <zlib.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/picture_size.h"
#include "client/cli/output/resume_log.h"
#include "client/cli/output/table_cells.h"
#include "client/cli/pipeline_option.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace orbserve::cli {
namespace {

constexpr uint32_t kDescriptorBytes = 32;

// True if `pipeline` has more than a preset. CheckPreset knows the presets without a call.
bool HasOptions(v1::Pipeline pipeline) {
  pipeline.clear_preset();
  return pipeline.ByteSizeLong() > 0;
}

// Asks the engine whether it accepts `pipeline`, by matching two empty sets of features: an error
// then refers to the options, never to an image, for which UNSUPPORTED is possible too. Other
// errors are left to the calls with images.
absl::Status AskForPipeline(const v1::Pipeline& pipeline, client::Client* client) {
  v1::MatchRequest request;
  *request.mutable_pipeline() = pipeline;
  request.mutable_query_features()->set_descriptor_bytes(kDescriptorBytes);
  request.mutable_train_features()->set_descriptor_bytes(kDescriptorBytes);
  const absl::Status status = client->Match(request).status();
  const std::string reason = client::WireStatusOf(status).reason();
  return reason == "BAD_OPTIONS" || reason == "UNSUPPORTED" ? status : absl::OkStatus();
}

}  // namespace

absl::StatusOr<RequestSetup> ReadRequestSetup(const ImageOptions& options) {
  RequestSetup setup;
  if (!options.pipeline.empty()) {
    absl::StatusOr<v1::Pipeline> pipeline = ParsePipeline(options.pipeline);
    if (!pipeline.ok()) return pipeline.status();
    setup.pipeline = *std::move(pipeline);
  }
  setup.flags = options.flags;
  if (absl::Status flags = ApplyPipelineFlags(setup.flags, &setup.pipeline); !flags.ok()) {
    return flags;
  }
  if (!options.mask_file.empty()) {
    absl::StatusOr<v1::Mask> mask = LoadMask(options.mask_file, kWidestPictureLimits);
    if (!mask.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--mask ", options.mask_file, ": ", std::string(mask.status().message())));
    }
    setup.mask = *std::move(mask);
  }
  return setup;
}

absl::Status CheckRequestSetup(const RequestSetup& setup, Engine* engine) {
  if (absl::Status preset = CheckPreset(setup.pipeline, engine->info()); !preset.ok()) {
    return preset;
  }
  if (HasOptions(setup.pipeline)) {
    absl::Status pipeline = AskForPipeline(setup.pipeline, engine->client());
    if (!pipeline.ok()) return pipeline;
  }
  if (absl::Status flags =
          CheckPipelineFlags(setup.flags, EffectivePipeline(setup.pipeline, engine->info()));
      !flags.ok()) {
    return flags;
  }
  if (!setup.mask.has_value()) return absl::OkStatus();
  const absl::Status size =
      CheckPictureSize(setup.mask->width_px(), setup.mask->height_px(), engine->picture_limits());
  if (size.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--mask: ", std::string(size.message())));
}

absl::StatusOr<v1::Frame> LoadMaskedFrame(const std::string& path, const RequestSetup& setup,
                                          const PictureLimits& limits,
                                          const std::atomic<bool>* stop) {
  absl::StatusOr<v1::Frame> frame = LoadFrame(path, limits, stop);
  if (frame.ok() && setup.mask.has_value()) *frame->mutable_mask() = *setup.mask;
  return frame;
}

std::string SetupFingerprint(const RequestSetup& setup, absl::string_view other) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream sink(&bytes);
    google::protobuf::io::CodedOutputStream out(&sink);
    out.SetSerializationDeterministic(true);
    setup.pipeline.SerializeToCodedStream(&out);
  }
  if (setup.mask.has_value()) {
    const std::string& pixels = setup.mask->pixels();
    absl::StrAppend(&bytes, "|mask ", setup.mask->width_px(), "x", setup.mask->height_px(), " ",
                    crc32_z(0, reinterpret_cast<const Bytef*>(pixels.data()), pixels.size()));
  }
  absl::StrAppend(&bytes, std::string(other));
  return OptionsFingerprint(bytes);
}

absl::Status CheckMessageSize(const google::protobuf::MessageLite& message,
                              const v1::ServerLimits& limits) {
  const size_t bytes = message.ByteSizeLong();
  if (limits.max_message_bytes() == 0 || bytes <= limits.max_message_bytes()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "too large for a message to the server: ", BytesText(bytes), " as it is sent; allowed are ",
      BytesText(limits.max_message_bytes()), " (limits.max_message_bytes of orbserve info)"));
}

}  // namespace orbserve::cli
