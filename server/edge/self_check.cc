// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/self_check.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel_posix.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"

namespace orbserve {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int kFewestFailures = 3;

}  // namespace

struct SelfCheck::State {
  explicit State(const SelfCheckOptions& given) : options(given) {}

  // The call of this number has ended. The mutex is held.
  void End(int64_t number, const absl::Status& status) {
    if (!is_calling || number != calls + 1) return;  // it was given up
    is_calling = false;
    ++calls;
    last = status;
    last_time = Steady::now();
    changed.notify_all();
    if (status.ok()) good_begin = begin;
    if (status.ok() || absl::IsResourceExhausted(status)) {
      failures = 0;
    } else if (failures++ == 0) {
      first_failure = begin;
    }
  }

  // Ends a call of whose end gRPC does not tell. The mutex is held.
  void GiveUpOverdue() {
    if (!is_calling || Steady::now() - begin < options.end_time) return;
    End(calls + 1, absl::UnavailableError("a call of the server to itself does not end"));
  }

  const SelfCheckOptions options;
  std::mutex mutex;  // guards everything below
  std::condition_variable changed;
  bool stopped = false;
  bool is_failed = false;
  bool is_calling = false;
  int64_t calls = 0;  // that have ended
  Steady::time_point begin;
  absl::Status last;
  Steady::time_point last_time;   // the end of the last call
  Steady::time_point good_begin;  // the begin of the last one that was answered
  int failures = 0;               // in a row
  Steady::time_point first_failure;
};

SelfCheck::SelfCheck(const SelfCheckOptions& options, Call call,
                     std::function<void()> on_self_check_failed)
    : call_(std::move(call)),
      on_self_check_failed_(std::move(on_self_check_failed)),
      state_(std::make_shared<State>(options)) {}

SelfCheck::~SelfCheck() { Stop(); }

void SelfCheck::Stop() {
  const std::scoped_lock lock(state_->mutex);
  state_->stopped = true;
  state_->changed.notify_all();
}

void SelfCheck::Begin() {
  int64_t number = 0;
  {
    const std::scoped_lock lock(state_->mutex);
    if (state_->stopped) return;
    state_->GiveUpOverdue();
    if (state_->is_calling) return;
    state_->is_calling = true;
    state_->begin = Steady::now();
    number = state_->calls + 1;
  }
  call_(state_->options.call_time, [state = state_, number](const absl::Status& status) {
    const std::scoped_lock lock(state->mutex);
    state->End(number, status);
  });
}

void SelfCheck::Look() {
  const SelfCheckOptions& options = state_->options;
  bool is_due = false;
  bool fails = false;
  {
    const std::scoped_lock lock(state_->mutex);
    state_->GiveUpOverdue();
    is_due = state_->calls == 0 || Steady::now() - state_->last_time >= options.period;
    fails = !state_->stopped && !state_->is_failed && state_->failures >= kFewestFailures &&
            state_->last_time - state_->first_failure >= options.failing_time;
    state_->is_failed |= fails;
  }
  if (fails) on_self_check_failed_();
  if (is_due) Begin();
}

absl::Status SelfCheck::Check() {
  const SelfCheckOptions& options = state_->options;
  std::unique_lock lock(state_->mutex);
  const Steady::time_point now = Steady::now();
  const int64_t before = state_->calls;
  if (before > 0 && now - state_->last_time <= options.cache_time) return state_->last;
  lock.unlock();
  Begin();
  lock.lock();
  if (state_->calls > before) return state_->last;
  if (before > 0 && state_->last.ok() && now - state_->good_begin <= options.good_time) {
    return state_->last;
  }
  const bool is_new = state_->changed.wait_until(lock, now + options.wait_time, [this, before] {
    return state_->calls > before || state_->stopped;
  });
  if (state_->calls > before) return state_->last;
  if (is_new) return absl::UnavailableError("the server stops");
  return absl::UnavailableError(absl::StrCat("a call of the server to itself has no answer for ",
                                             options.wait_time.count(), " ms"));
}

bool SelfCheck::last_failed() const {
  const std::scoped_lock lock(state_->mutex);
  return !state_->last.ok();
}

struct SelfCheckCalls::Call {
  explicit Call(int connection)
      : stub(grpc::CreateInsecureChannelFromFd("orbserve-server", connection)) {}

  grpc::GenericStub stub;
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
  bool has_ended = false;
};

SelfCheckCalls::SelfCheckCalls() = default;

SelfCheckCalls::~SelfCheckCalls() {
  for (Call& call : calls_) call.context.TryCancel();  // nobody changes the list any more
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] {
    return std::all_of(calls_.begin(), calls_.end(),
                       [](const Call& call) { return call.has_ended; });
  });
}

void SelfCheckCalls::Begin(FileDescriptor connection, std::chrono::milliseconds limit,
                           std::function<void(const absl::Status&)> done) {
  std::list<Call> over;  // freed after the lock
  Call* call = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    for (auto at = calls_.begin(); at != calls_.end();) {
      const auto next = std::next(at);
      if (at->has_ended) over.splice(over.end(), calls_, at);
      at = next;
    }
    call = &calls_.emplace_back(connection.Release());
  }
  call->context.set_deadline(std::chrono::system_clock::now() + limit);
  const grpc::Slice no_fields;  // the health of the whole server
  call->request = grpc::ByteBuffer(&no_fields, 1);
  call->stub.UnaryCall(
      &call->context, "/grpc.health.v1.Health/Check", {}, &call->request, &call->response,
      [this, call, done = std::move(done)](const grpc::Status& status) {
        done(status.ok() ? absl::OkStatus()
                         : absl::UnavailableError(absl::StrCat(
                               "a call of the server to itself failed: ", status.error_message())));
        const std::scoped_lock lock(mutex_);
        call->has_ended = true;
        ended_.notify_all();
      });
}

}  // namespace orbserve
