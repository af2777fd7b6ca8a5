// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// For builds with ThreadSanitizer only, as abseil_tsan.cc. Libraries that are not instrumented
// share the functions of std::string with each other and, where these were not inlined, with the
// program: the sanitizer would see what such libraries do to their strings, but not what orders it.
// programs.map hides the program's own instrumented copies from them; they find these here, which
// are not instrumented.

#include <string>

template class std::basic_string<char>;
