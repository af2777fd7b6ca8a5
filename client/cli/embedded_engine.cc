// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/embedded_engine.h"

namespace orbserve::cli {

absl::StatusOr<std::unique_ptr<EmbeddedEngine>> EmbeddedEngine::Start(const CommonOptions&) {
  return absl::UnimplementedError("this build has no embedded engine; give --server HOST:PORT");
}

}  // namespace orbserve::cli
