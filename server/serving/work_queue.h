// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The skeleton of every queue of work: tickets, admission, deadlines, cancellation and draining.
// Batcher and RequestQueue stand on it. A kind of work adds its own order of items, its
// batches and its answers.
//
// Life of an item. Admit() gives it a ticket, and it waits, or answers it with a refusal. An item
// that waits leaves in one of two ways:
//  - it is launched: Launch() makes it part of a batch, which goes to the backend. When the batch
//    comes back, the kind calls BatchReturned(), decides about the outcomes, calls CloseBatch()
//    and answers, or has GiveOutcomes() do both;
//  - it is withdrawn: its deadline passes, or Cancel(), Fail(), FailWaiting() or the
//    destructor ends it.
//    The skeleton then calls AnswerFailed().
// An item is owed exactly one answer, given by whichever thread ends its life and never
// under a lock. Calls for its ticket after that have no effect.
//
// Shares. Clients share the backend by the cost of their items (fair_shares.h): the kind takes
// items from queues that stand on shares(). Launch() charges the expected cost, CloseBatch()
// corrects it by what the batch took.
//
// Admission. The ledger shares out the places for items that wait, and the memory that these hold
// (ledger.h): an owner and a name may have kTimesFree times what is free. Names that have nothing
// waiting find some room that the others of their owner leave, up to kTimesFreeForNewcomers. A
// queue that drains refuses all (DRAINING), and an item whose deadline has passed is refused, too
// (DEADLINE_EXCEEDED).
//
// Deadlines. An item is answered DEADLINE_EXCEEDED at the moment of its deadline, also while the
// backend is busy. If it waits, it frees its place at once, and it is never launched. If it is
// launched, its cancellation flag is raised, and the backend's answer is dropped. No item is
// answered OK after its deadline.
//
// Cancellation. Cancel() answers an item that waits: CANCELLED, or DEADLINE_EXCEEDED when its
// deadline has passed, because gRPC cancels calls at their deadline, perhaps before the alarm. For
// a launched item Cancel() only raises the cancellation flag that the jobs carry.
//
// Memory. Whatever there is much of stands in containers of small nodes, whose allocations the
// reserve of the process backs (memory_reserve.h), and which take none while they are empty. Items
// hold their outcomes, so that the answer of the backend finds room. The vectors that a batch takes
// to the backend may find no memory: its items are then answered OUT_OF_MEMORY.
//
// Threads. The skeleton has no thread. Every change of state ends with TakeWork() under the lock,
// which collects the expired items and the batches that may be launched and sets the alarm, and
// with Do() without the lock, which launches and answers. After a batch the next one is launched
// before answers go out. The backend is never called under the lock. Threads of a pool answer where
// many answers are due at once: neither the clock's thread nor the backend's is held up.
//
// A kind adds an item (derived from WorkItem), a batch (it has a member `items`), and the functions
// that are virtual here. Its destructor calls Shut() first.

#ifndef ORBSERVE_SERVER_SERVING_WORK_QUEUE_H_
#define ORBSERVE_SERVER_SERVING_WORK_QUEUE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "features/errors.h"
#include "server/clients/client_id.h"
#include "server/clients/fair_shares.h"
#include "server/clients/ledger.h"
#include "server/process/clock.h"
#include "server/serving/observer.h"
#include "server/serving/work_kind.h"
#include "server/serving/worker_pool.h"

namespace orbserve {

// Batches of a queue of work at one moment.
struct BatchMotion {
  int in_flight = 0;  // with the backend
  int64_t ended = 0;  // since the queue was made
};

using WorkTicket = uint64_t;  // 0 = none

// An item of a queue of work.
struct WorkItem {
  WorkTicket ticket = 0;                   // set by Admit(); 0 if it was refused
  ClientId client;                         // whose share it takes
  FairShares::Account* account = nullptr;  // of the client; set by Admit()
  SteadyTime deadline = kNever;
  Holding queue_slot;   // while it waits
  Holding queue_bytes;  // memory that it holds while it waits
  SteadyTime ready_at;  // from when on it may be launched: its admission, or as the kind says
  std::chrono::nanoseconds queued{};  // from `ready_at` to the launch; set by Launch()
  int64_t cost_ns = 0;                // charged to the account; set by Launch()
  bool is_launched = false;           // else it waits
  // After CloseBatch(): the item had its answer at its deadline, or is owed one after it.
  bool is_answered = false;
  bool is_late = false;
  // Jobs carry this flag to the backend.
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
};

struct WorkQueueOptions {
  int max_items = 1024;                  // waiting, of all clients, >= 1
  int max_items_per_client = 256;        // waiting, >= 1
  int64_t max_bytes = int64_t{1} << 30;  // of those that wait, >= 1; one item always fits
  // What the clients hold, and who has which weight; see FairShares.
  Ledger* ledger = nullptr;
  // Gives the answers of a batch, and those of items whose deadlines pass together. Queues may
  // share it, and it must outlive them. Null = the threads that end items give all answers.
  WorkerPool* answerers = nullptr;
};

// Item: derived from WorkItem. Batch: has `std::vector<std::shared_ptr<Item>> items`. Thread-safe.
template <typename Item, typename Batch>
class WorkQueue {
 public:
  using Ticket = WorkTicket;
  using ItemPtr = std::shared_ptr<Item>;

  static constexpr double kTimesFree = 3;
  static constexpr double kTimesFreeForNewcomers = 7;

  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // The client no longer waits for the item.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_) {
    ItemPtr item;
    absl::Status status;
    {
      absl::MutexLock lock(&mutex_);
      const auto entry = items_.find(ticket);
      if (entry == items_.end()) return;
      if (entry->second->is_launched) {
        entry->second->cancelled->store(true, std::memory_order_relaxed);
        return;
      }
      status = GoneStatus(kind_, clock_->Now(), entry->second->deadline);
      item = Withdraw(*entry->second);
    }
    AnswerFailed(*item, status);
  }

  // Answers `status`, which is not OK, to an item that is not launched.
  void Fail(Ticket ticket, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    ItemPtr item;
    {
      absl::MutexLock lock(&mutex_);
      Item* const waiting = FindWaiting(ticket);
      if (waiting == nullptr) return;
      item = Withdraw(*waiting);
    }
    AnswerFailed(*item, status);
  }

  // Answers `status`, which is not OK, to all items that are not launched.
  void FailWaiting(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::list<ItemPtr> left;
    {
      absl::MutexLock lock(&mutex_);
      for (const auto& [ticket, item] : items_) {
        if (!item->is_launched) left.push_back(item);
      }
      for (const ItemPtr& item : left) Withdraw(*item);
    }
    for (const ItemPtr& item : left) AnswerFailed(*item, status);
  }

  // Refuses new items (DRAINING). Those that wait are launched without delay.
  void BeginDrain() ABSL_LOCKS_EXCLUDED(mutex_) {
    Change([this] {
      mutex_.AssertHeld();
      is_draining_ = true;
    });
  }

  // Refuses new items, answers DRAINING to those that wait, and waits for the batches in flight and
  // for all threads that are inside. The destructor of the kind calls it. An owner calls it earlier
  // for queues whose answers enter each other.
  void Shut() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      is_draining_ = true;
      is_shut_ = true;
    }
    FailWaiting(DrainingStatus());
    const auto is_idle = [this] {
      mutex_.AssertReaderHeld();
      return batches_in_flight_ == 0 && callers_inside_ == 0;
    };
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&is_idle));
    }
    alarm_.reset();
  }

  // Items that are owed an answer.
  int open_items() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return static_cast<int>(items_.size());
  }
  BatchMotion motion() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return {.in_flight = batches_in_flight_, .ended = batches_ended_};
  }

 protected:
  // Work that a change of state made possible.
  struct Work {
    std::list<ItemPtr> expired;
    std::list<Batch> batches;
    bool empty() const { return expired.empty() && batches.empty(); }
  };

  // Both must outlive the queue.
  WorkQueue(WorkKind kind, Clock* clock, ServingObserver* observer, const WorkQueueOptions& options)
      : clock_(clock),
        observer_(observer),
        kind_(kind),
        answerers_(options.answerers),
        shares_(options.ledger) {
    shares_.ledger().Bound(ItemsOf(kind), {.all = options.max_items,
                                           .name = options.max_items_per_client,
                                           .times_free = kTimesFree,
                                           .times_free_for_newcomers = kTimesFreeForNewcomers});
    shares_.ledger().Bound(BytesOf(kind), {.all = options.max_bytes,
                                           .times_free = kTimesFree,
                                           .times_free_for_newcomers = kTimesFreeForNewcomers});
    alarm_ = clock_->MakeAlarm([this] {
      Change([this] {
        mutex_.AssertHeld();
        alarm_at_ = kNever;  // it has fired
      });
    });
  }
  virtual ~WorkQueue() = default;

  // --- The kind implements these. ---

  // The item starts to wait. Returns the memory that it holds meanwhile.
  virtual int64_t StartsWaiting(const Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // Puts an item that was admitted into the kind's own order, and returns true, or returns false if
  // it cannot be launched yet.
  virtual bool Enqueue(Item& /*item*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return false; }
  // Takes an item that is not launched out of the kind's own order. Not called for an item that is
  // being launched, which the kind has taken out itself.
  virtual void Dequeue(Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // The item stops waiting, and has freed what it holds itself.
  virtual void StopsWaiting(const Item& /*item*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}
  // Forms one batch of items, not empty, if the backend has a place for one; each item passes
  // through Launch().
  virtual std::optional<Batch> NextBatch(SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // Returns the moment at which NextBatch() may form a batch though nothing else changes by then.
  virtual SteadyTime NextBatchTime() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return kNever; }
  // Frees the place of a batch that came back from the backend.
  virtual void FreePlace(const Batch& /*batch*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}
  // Hands a batch to the backend. If it throws std::bad_alloc, the batch is as it was, but for its
  // jobs, and the skeleton answers it.
  virtual void Send(Batch& batch) ABSL_LOCKS_EXCLUDED(mutex_) = 0;
  // Answers an item without an outcome of the backend. `status` is not OK. An item that is late may
  // still be part of a batch (`is_answered`): only what the answer needs may be touched then.
  virtual void AnswerFailed(Item& item, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) = 0;

  // --- The kind calls these. ---

  // Gives the item a ticket, or returns false when it is refused: then it was answered.
  bool Admit(const ItemPtr& item) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::Status refusal;
    Work work;
    {
      absl::MutexLock lock(&mutex_);
      const SteadyTime now = clock_->Now();
      refusal = TakePlace(*item, now);
      if (refusal.ok()) {
        item->ticket = next_ticket_++;
        item->ready_at = now;
        if (item->deadline != kNever) deadlines_.insert({item->deadline, item->ticket});
        items_.emplace(item->ticket, item);
        if (Enqueue(*item) || NextDeadline() < alarm_at_) work = TakeWork(now);
      }
    }
    if (!refusal.ok()) AnswerFailed(*item, refusal);
    Do(std::move(work));
    return refusal.ok();
  }

  // Returns null for an item that does not wait (any more).
  Item* FindWaiting(Ticket ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto entry = items_.find(ticket);
    return entry == items_.end() || entry->second->is_launched ? nullptr : entry->second.get();
  }

  // The item waits no more: it becomes part of a batch, and its client is charged with its expected
  // cost.
  ItemPtr Launch(Item& item, SteadyTime now, int64_t cost_ns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    item.queued = now - item.ready_at;
    item.cost_ns = cost_ns;
    item.is_launched = true;
    shares_.Charge(item.account, cost_ns);
    FreeHoldings(item);
    return items_.find(item.ticket)->second;
  }

  int batches_in_flight() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return batches_in_flight_; }
  bool is_draining() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_draining_; }

  // Every change of state ends with these two.
  Work TakeWork(SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Work work;
    work.expired = TakeExpired(now);
    while (!is_shut_) {
      std::optional<Batch> batch = NextBatch(now);
      if (!batch.has_value()) break;
      ++batches_in_flight_;
      work.batches.push_back(*std::move(batch));
    }
    const SteadyTime next = std::min(NextDeadline(), NextBatchTime());
    // An alarm that comes too early finds no work and is set again. Postponing it each time that an
    // item ends would cost more: setting it wakes the clock's thread.
    if (next < alarm_at_) {
      alarm_at_ = next;
      // Only arms a timer: no callback runs inside. The lock keeps the settings of two threads in
      // order.
      alarm_->Set(next);
    }
    if (!work.empty()) ++callers_inside_;
    return work;
  }
  void Do(Work work) ABSL_LOCKS_EXCLUDED(mutex_) {
    // Most items of a busy server only join their queue.
    if (work.empty()) return;
    for (Batch& batch : work.batches) {
      try {
        Send(batch);
      } catch (const std::bad_alloc&) {
        FailBatch(batch);
      }
    }
    GiveAnswers(std::move(work.expired),
                [this](ItemPtr item) { AnswerFailed(*item, LateStatus(kind_)); });
    Leave();
  }

  // Gives `submit`, which hands jobs to the backend, a callback that calls `done` with the batch
  // and its answer. Send() ends with it.
  template <typename Kind, typename Answer, typename Submit>
  void Hand(Batch& batch, void (Kind::*done)(Batch, Answer), const Submit& submit) {
    auto handed = std::make_shared<Batch>(std::move(batch));
    try {
      submit([this, handed, done](Answer answer) {
        (static_cast<Kind*>(this)->*done)(std::move(*handed), std::move(answer));
      });
    } catch (const std::bad_alloc&) {
      batch = std::move(*handed);
      throw;
    }
  }

  // The backend owes one answer per job; those that are missing are its bug.
  template <typename JobAnswer>
  static void FillUp(std::vector<JobAnswer>& answers, size_t jobs) {
    if (answers.size() >= jobs) return;
    JobAnswer missing;
    missing.status = MakeError(ErrorReason::kInternal, "the backend answered too few jobs");
    answers.resize(jobs, missing);
  }

  // Returns what a batch took of its backend; 0 if the backend does not say.
  static int64_t TakenNs(const BatchCost& cost) {
    if (cost.work_ns > 0) return cost.work_ns;
    return std::max<int64_t>(0, std::chrono::nanoseconds(cost.busy_end - cost.busy_begin).count());
  }

  // The backend's answer to a batch begins with BatchReturned(), which launches the next batches.
  // Then CloseBatch() closes the items and corrects the charges by what the batch took, 0 if that
  // is unknown. Answers follow, except of the items that are answered already: LateStatus() for
  // those that are late. The last call is Leave(): until then the destructor waits.
  void BatchReturned(const Batch& batch) ABSL_LOCKS_EXCLUDED(mutex_) {
    Change([this, &batch] {
      mutex_.AssertHeld();
      --batches_in_flight_;
      ++batches_ended_;
      ++callers_inside_;
      FreePlace(batch);
    });
  }
  void CloseBatch(const Batch& batch, int64_t taken_ns) ABSL_LOCKS_EXCLUDED(mutex_) {
    int64_t charged_ns = 0;
    for (const ItemPtr& item : batch.items) charged_ns += item->cost_ns;
    absl::MutexLock lock(&mutex_);
    const SteadyTime now = clock_->Now();
    for (const ItemPtr& item : batch.items) {
      if (taken_ns > 0) {
        const double part =
            charged_ns > 0 ? static_cast<double>(item->cost_ns) / static_cast<double>(charged_ns)
                           : 1.0 / static_cast<double>(batch.items.size());
        const auto own_ns = static_cast<int64_t>(part * static_cast<double>(taken_ns));
        shares_.Correct(item->account, own_ns - item->cost_ns);
      }
      if (!item->is_answered) {
        TakeOut(*item);
        item->is_late = now >= item->deadline;  // the alarm may be later than the answer
      }
      shares_.Close(item->account);
    }
  }
  // Does the last three of these for items that have an `outcome`, with a status, and a `done` to
  // give it to.
  void GiveOutcomes(Batch batch, int64_t taken_ns) ABSL_LOCKS_EXCLUDED(mutex_) {
    CloseBatch(batch, taken_ns);
    std::list<ItemPtr> owed;
    for (ItemPtr& item : batch.items) {
      if (item->is_late) item->outcome.status = LateStatus(kind_);
      if (!item->is_answered) owed.push_back(std::move(item));
    }
    batch.items.clear();
    GiveAnswers(std::move(owed),
                [](ItemPtr item) { std::move(item->done)(std::move(item->outcome)); });
    Leave();
  }
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    --callers_inside_;
  }
  // Makes the destructor wait for one more Leave(): another thread gives answers.
  void Stay() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++callers_inside_;
  }

  Clock* const clock_;
  ServingObserver* const observer_;
  mutable absl::Mutex mutex_;

 private:
  template <typename Apply>
  void Change(const Apply& apply) ABSL_LOCKS_EXCLUDED(mutex_) {
    Work work;
    {
      absl::MutexLock lock(&mutex_);
      apply();
      work = TakeWork(clock_->Now());
    }
    Do(std::move(work));
  }

  // Takes a place in the queue, and memory, for the item; or says why there is none.
  absl::Status TakePlace(Item& item, SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_draining_) return DrainingStatus();
    if (now >= item.deadline) return LateStatus(kind_);
    item.account = shares_.Open(item.client);
    item.queue_slot = Holding(item.account->holds(), ItemsOf(kind_));
    item.queue_bytes = Holding(item.account->holds(), BytesOf(kind_));
    std::optional<Refusal> full = item.queue_slot.Resize(1);
    if (!full.has_value()) {
      full = item.queue_bytes.Resize(StartsWaiting(item));
      if (!full.has_value()) return absl::OkStatus();
      StopsWaiting(item);
    }
    // The item may outlive the queue and the account.
    item.queue_slot = Holding();
    item.queue_bytes = Holding();
    shares_.Close(std::exchange(item.account, nullptr));
    return full->status();
  }

  // The item waits no more.
  void FreeHoldings(Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    item.queue_slot = Holding();
    item.queue_bytes = Holding();
    StopsWaiting(item);
  }

  // The item is no longer owed an answer, though it may get it only after the lock.
  ItemPtr TakeOut(Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (item.deadline != kNever) deadlines_.erase({item.deadline, item.ticket});
    const auto entry = items_.find(item.ticket);
    ItemPtr owned = std::move(entry->second);
    items_.erase(entry);
    return owned;
  }

  // Takes an item out that waits.
  ItemPtr Withdraw(Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Dequeue(item);
    shares_.Close(item.account);
    FreeHoldings(item);
    return TakeOut(item);
  }

  SteadyTime NextDeadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return deadlines_.empty() ? kNever : deadlines_.begin()->first;
  }

  std::list<ItemPtr> TakeExpired(SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::list<ItemPtr> expired;
    while (NextDeadline() <= now) {
      Item& item = *items_.find(deadlines_.begin()->second)->second;
      if (item.is_launched) {
        item.cancelled->store(true, std::memory_order_relaxed);
        item.is_answered = true;
      }
      expired.push_back(item.is_launched ? TakeOut(item) : Withdraw(item));
    }
    return expired;
  }

  // Answers a batch that did not reach the backend.
  void FailBatch(const Batch& batch) ABSL_LOCKS_EXCLUDED(mutex_) {
    BatchReturned(batch);
    CloseBatch(batch, 0);
    for (const ItemPtr& item : batch.items) {
      if (item->is_answered) continue;
      AnswerFailed(*item, item->is_late ? LateStatus(kind_) : NoMemoryStatus(kind_));
    }
    Leave();
  }

  // Calls `give` for each of `items`: on this thread if there is only one, else on those of
  // `answerers`, if there are some, for which the destructor waits.
  template <typename Give>
  void GiveAnswers(std::list<ItemPtr> items, const Give& give) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (answerers_ == nullptr || items.size() < 2) {
      for (ItemPtr& item : items) give(std::move(item));
      return;
    }
    const auto parts = static_cast<size_t>(answerers_->threads());
    const size_t each = (items.size() + parts - 1) / parts;
    while (!items.empty()) {
      const size_t count = std::min(each, items.size());
      std::list<ItemPtr> some;
      some.splice(some.begin(), items, items.begin(),
                  std::next(items.begin(), static_cast<ptrdiff_t>(count)));
      Stay();
      answerers_->Run(ClientId{}, {}, [this, give, some = std::move(some)]() mutable {
        for (ItemPtr& item : some) give(std::move(item));
        some.clear();
        Leave();
      });
    }
  }

  const WorkKind kind_;
  WorkerPool* const answerers_;
  bool is_draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_shut_ ABSL_GUARDED_BY(mutex_) = false;  // the destructor runs: nothing is launched
  Ticket next_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
  int batches_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t batches_ended_ ABSL_GUARDED_BY(mutex_) = 0;
  int callers_inside_ ABSL_GUARDED_BY(mutex_) = 0;                  // each will call Leave()
  absl::btree_map<Ticket, ItemPtr> items_ ABSL_GUARDED_BY(mutex_);  // that are owed an answer
  FairShares shares_ ABSL_GUARDED_BY(mutex_);
  // Their deadlines.
  std::set<std::pair<SteadyTime, Ticket>> deadlines_ ABSL_GUARDED_BY(mutex_);
  // Moment for which the alarm is set: the next one at which there may be work, or an earlier one.
  SteadyTime alarm_at_ ABSL_GUARDED_BY(mutex_) = kNever;
  std::unique_ptr<Alarm> alarm_;  // null after Shut()
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_WORK_QUEUE_H_
