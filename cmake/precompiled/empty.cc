// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// CMake precompiles headers for a target, and a target needs a source file.
