// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/program.h"

int main(int argc, char** argv) { return orbserve::RunServerProgram(argc, argv); }
