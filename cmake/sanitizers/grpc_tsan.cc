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

// Returns true if `address` lies in code.
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

// The memory of a slice whose owner says how to free it. Whoever drops the last reference frees it,
// after all who have read the bytes; the references are an atomic number in the library.
struct OwnedMemory {
  void (*destroy)(void*);
  void* user_data;
  void* bytes;
};

void DestroyOwned(void* memory) {
  const OwnedMemory owned = *static_cast<OwnedMemory*>(memory);
  delete static_cast<OwnedMemory*>(memory);
  __tsan_acquire(owned.bytes);
  owned.destroy(owned.user_data);
}

// Calls of a server end before it does: each request of a call counts itself off when the call has
// ended, by an atomic number in the library, and the server's shutdown waits for the last one.
char ended_calls;

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

grpc_slice grpc_slice_new_with_user_data(void* bytes, size_t size, void (*destroy)(void*),
                                         void* user_data) {
  static auto* const real =
      Real<decltype(grpc_slice_new_with_user_data)>("grpc_slice_new_with_user_data");
  return real(bytes, size, &DestroyOwned, new OwnedMemory{destroy, user_data, bytes});
}

void grpc_byte_buffer_destroy(grpc_byte_buffer* buffer) {
  static auto* const real = Real<decltype(grpc_byte_buffer_destroy)>("grpc_byte_buffer_destroy");
  if (buffer != nullptr && buffer->type == GRPC_BB_RAW) {
    const grpc_slice_buffer& slices = buffer->data.raw.slice_buffer;
    for (size_t i = 0; i < slices.count; ++i) {
      __tsan_release(GRPC_SLICE_START_PTR(slices.slices[i]));
    }
  }
  real(buffer);
}

void grpc_call_unref(grpc_call* call) {
  static auto* const real = Real<decltype(grpc_call_unref)>("grpc_call_unref");
  __tsan_release(&ended_calls);
  real(call);
}

void grpc_server_destroy(grpc_server* server) {
  static auto* const real = Real<decltype(grpc_server_destroy)>("grpc_server_destroy");
  real(server);
  __tsan_acquire(&ended_calls);
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
