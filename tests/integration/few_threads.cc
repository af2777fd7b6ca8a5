// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// For LD_PRELOAD: a process that may start FEW_THREADS threads, and no more.

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) {
  static const auto create =
      reinterpret_cast<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
          dlsym(RTLD_NEXT, "pthread_create"));
  static std::atomic<int> left = [] {
    const char* const text = std::getenv("FEW_THREADS");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  if (left.fetch_sub(1) <= 0) return EAGAIN;
  return create(thread, attributes, run, argument);
}
