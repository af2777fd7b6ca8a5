// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// For builds with ThreadSanitizer only, as abseil_tsan.cc. The distribution's gRPC is not
// instrumented, so the sanitizer does not see how operations travel between threads. Here the entry
// points of its core tell it: what is done when a batch of operations ends comes after the batch
// was started, whichever thread does it.

#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpc/impl/codegen/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <grpcpp/support/server_callback.h>
#include <link.h>
#include <sanitizer/tsan_interface.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

template <typename Function>
Function* Real(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "grpc_tsan: no %s: is gRPC a static library?\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

// Whether `address` lies in code.
bool IsCode(uintptr_t address) {
  return dl_iterate_phdr(
             [](dl_phdr_info* object, size_t, void* wanted) {
               for (int i = 0; i < object->dlpi_phnum; ++i) {
                 const ElfW(Phdr)& segment = object->dlpi_phdr[i];
                 if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
                     *static_cast<uintptr_t*>(wanted) - object->dlpi_addr - segment.p_vaddr <
                         segment.p_memsz) {
                   return 1;
                 }
               }
               return 0;
             },
             &address) != 0;
}

// The tags of a queue with callbacks are functors, which begin with a function; all others of the
// C++ interface are objects that begin with the address of their virtual table.
bool IsFunctor(void* tag) { return tag != nullptr && IsCode(*static_cast<uintptr_t*>(tag)); }

// Takes the place of a functor and begins after the start of its batch.
class AcquiringFunctor : public grpc_completion_queue_functor {
 public:
  explicit AcquiringFunctor(grpc_completion_queue_functor* inner)
      : grpc_completion_queue_functor{&Run, inner->inlineable, 0, nullptr}, inner_(inner) {}

 private:
  static void Run(grpc_completion_queue_functor* functor, int ok) {
    __tsan_acquire(functor);
    auto* const self = static_cast<AcquiringFunctor*>(functor);
    grpc_completion_queue_functor* const inner = self->inner_;
    delete self;
    inner->functor_run(inner, ok);
  }

  grpc_completion_queue_functor* const inner_;
};

// The bytes of messages travel by reference through a channel inside the process.
void ReleaseMessages(const grpc_op* ops, size_t nops) {
  for (size_t i = 0; i < nops; ++i) {
    if (ops[i].op != GRPC_OP_SEND_MESSAGE) continue;
    const grpc_byte_buffer* const message = ops[i].data.send_message.send_message;
    if (message == nullptr || message->type != GRPC_BB_RAW) continue;
    const grpc_slice_buffer& slices = message->data.raw.slice_buffer;
    for (size_t j = 0; j < slices.count; ++j) {
      __tsan_release(GRPC_SLICE_START_PTR(slices.slices[j]));
    }
  }
}

// Takes the place of a reactor that is told of a cancellation. gRPC counts down afterwards, in the
// library, and OnDone() follows when `counter` is 0.
class ReleasingReactor final : public grpc::internal::ServerReactor {
 public:
  ReleasingReactor(grpc::internal::ServerReactor* inner, void* counter)
      : inner_(inner), counter_(counter) {}
  void OnDone() override {}
  void OnCancel() override {
    __tsan_acquire(this);
    grpc::internal::ServerReactor* const inner = inner_;
    void* const counter = counter_;
    delete this;
    inner->OnCancel();
    __tsan_release(counter);
  }

 private:
  grpc::internal::ServerReactor* const inner_;
  void* const counter_;
};

grpc_event AcquireFrom(const grpc_event& event) {
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

}  // namespace

extern "C" {

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t nops, void* tag,
                                      void* reserved) {
  static auto* const real = Real<decltype(grpc_call_start_batch)>("grpc_call_start_batch");
  ReleaseMessages(ops, nops);
  if (!IsFunctor(tag)) {
    __tsan_release(tag);
    return real(call, ops, nops, tag, reserved);
  }
  auto* const functor = new AcquiringFunctor(static_cast<grpc_completion_queue_functor*>(tag));
  __tsan_release(functor);
  const grpc_call_error error = real(call, ops, nops, functor, reserved);
  if (error != GRPC_CALL_OK) delete functor;
  return error;
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  static auto* const real =
      Real<decltype(grpc_completion_queue_next)>("grpc_completion_queue_next");
  return AcquireFrom(real(queue, deadline, reserved));
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag,
                                       gpr_timespec deadline, void* reserved) {
  static auto* const real =
      Real<decltype(grpc_completion_queue_pluck)>("grpc_completion_queue_pluck");
  return AcquireFrom(real(queue, tag, deadline, reserved));
}

int grpc_byte_buffer_reader_peek(grpc_byte_buffer_reader* reader, grpc_slice** slice) {
  static auto* const real =
      Real<decltype(grpc_byte_buffer_reader_peek)>("grpc_byte_buffer_reader_peek");
  const int found = real(reader, slice);
  if (found != 0) __tsan_acquire(GRPC_SLICE_START_PTR(**slice));
  return found;
}

}  // extern "C"

namespace grpc::internal {

void ServerCallbackCall::CallOnCancel(ServerReactor* reactor) {
  static auto* const real = Real<void(ServerCallbackCall*, ServerReactor*)>(
      "_ZN4grpc8internal18ServerCallbackCall12CallOnCancelEPNS0_13ServerReactorE");
  __tsan_acquire(&on_cancel_conditions_remaining_);
  if (!reactor->InternalInlineable()) {
    reactor = new ReleasingReactor(reactor, &callbacks_outstanding_);
    __tsan_release(reactor);
  }
  real(this, reactor);
}

void ServerCallbackCall::ScheduleOnDone(bool inline_ondone) {
  static auto* const real = Real<void(ServerCallbackCall*, bool)>(
      "_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb");
  __tsan_acquire(&callbacks_outstanding_);
  real(this, inline_ondone);
}

}  // namespace grpc::internal
