// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/uncaught.h"
#include "server/program.h"

int main(int argc, char** argv) {
  orbserve::ExplainMissingThreads("orbserve-server");
  return orbserve::RunServerProgram(argc, argv);
}
