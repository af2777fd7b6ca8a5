// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/uncaught.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <system_error>

namespace orbserve {
namespace {

constexpr int kExitFailed = 1;

void (*tell_missing_threads)(int exit_code, const char* message) = nullptr;
std::terminate_handler former_handler = nullptr;

// Returns true if an exception says that no thread can be started. TBB's has a text only.
bool IsMissingThread(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::system_error& error) {
    return error.code() == std::errc::resource_unavailable_try_again;
  } catch (const std::runtime_error& error) {
    return std::strstr(error.what(), "pthread_create") != nullptr;
  } catch (...) {
    return false;
  }
}

[[noreturn]] void OnTerminate() {
  const std::exception_ptr exception = std::current_exception();
  if (exception != nullptr && IsMissingThread(exception)) {
    tell_missing_threads(
        kExitFailed,
        "cannot start a thread: the limit of threads is reached (ulimit -u, pids.max of the "
        "control group, TasksMax of the unit), or that of the address space, which their stacks "
        "take (ulimit -v)");
    _exit(kExitFailed);
  }
  if (former_handler != nullptr) former_handler();
  std::abort();
}

}  // namespace

void ExplainMissingThreads(void (*tell)(int exit_code, const char* message)) {
  tell_missing_threads = tell;
  former_handler = std::set_terminate(OnTerminate);
}

}  // namespace orbserve
