// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The skeleton of every queue of work: tickets, admission, deadlines, cancellation and draining.
// Batcher, MatchQueue and TrackQueue stand on it. A kind of work adds its own order of items, its
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
#include <deque>
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
#include "server/serving/work_item.h"
#include "server/serving/work_kind.h"
#include "server/serving/worker_pool.h"

namespace orbserve {

// Batches of a queue of work at one moment.
struct BatchMotion {
  int in_flight = 0;  // with the backend
  int64_t ended = 0;  // since the queue was made
};

struct WorkQueueOptions {
  WorkKind kind = WorkKind::kFrames;
  int max_items = 1;             // waiting, of all clients, >= 1
  int max_items_per_client = 1;  // waiting, >= 1
  int64_t max_bytes = 1;         // of those that wait, >= 1
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

  static constexpr double kTimesFree = 3;
  static constexpr double kTimesFreeForNewcomers = 7;

  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // The client no longer waits for the item.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers `status`, which is not OK, to an item that is not launched.
  void Fail(Ticket ticket, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers `status`, which is not OK, to all items that are not launched.
  void FailWaiting(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Refuses new items (DRAINING). Those that wait are launched without delay.
  void BeginDrain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Refuses new items, answers DRAINING to those that wait, and waits for the batches in flight and
  // for all threads that are inside. The destructor of the kind calls it. An owner calls it earlier
  // for queues whose answers enter each other.
  void Shut() ABSL_LOCKS_EXCLUDED(mutex_);

  // Items that are owed an answer.
  int open_items() const ABSL_LOCKS_EXCLUDED(mutex_);
  BatchMotion motion() const ABSL_LOCKS_EXCLUDED(mutex_);

 protected:
  // Work that a change of state made possible.
  struct Work {
    std::list<std::shared_ptr<Item>> expired;
    std::list<Batch> batches;
    bool empty() const { return expired.empty() && batches.empty(); }
  };

  // Both must outlive the queue.
  WorkQueue(Clock* clock, ServingObserver* observer, const WorkQueueOptions& options);
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
  bool Admit(const std::shared_ptr<Item>& item) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns null for an item that does not wait (any more).
  Item* FindWaiting(Ticket ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The item waits no more: it becomes part of a batch, and its client is charged with its expected
  // cost.
  std::shared_ptr<Item> Launch(Item& item, SteadyTime now, int64_t cost_ns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int batches_in_flight() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return batches_in_flight_; }
  bool is_draining() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_draining_; }

  // Every change of state ends with these two.
  Work TakeWork(SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(Work work) ABSL_LOCKS_EXCLUDED(mutex_);

  // The backend's answer to a batch begins with BatchReturned(), which launches the next batches.
  // Then CloseBatch() closes the items and corrects the charges by what the batch took, 0 if that
  // is unknown; `status_of(i)` returns a reference to the status of item i, which becomes
  // DEADLINE_EXCEEDED for an item that is late. Answers follow, except of the items that are
  // answered already. The last call is Leave(): until then the destructor waits.
  void BatchReturned(const Batch& batch) ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename StatusOf>
  void CloseBatch(const Batch& batch, int64_t taken_ns, const StatusOf& status_of)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Does the last three of these for items that have an `outcome`, with a status, and a `done` to
  // give it to.
  void GiveOutcomes(Batch batch, int64_t taken_ns) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns what a batch took of its backend; 0 if the backend does not say.
  static int64_t TakenNs(const BatchCost& cost) {
    if (cost.work_ns > 0) return cost.work_ns;
    return std::max<int64_t>(0, std::chrono::nanoseconds(cost.busy_end - cost.busy_begin).count());
  }
  // Gives `submit`, which hands jobs to the backend, a callback that calls `done` with the batch
  // and its answer. Send() ends with it.
  template <typename Kind, typename Answer, typename Submit>
  void Hand(Batch& batch, void (Kind::*done)(Batch, Answer), const Submit& submit);
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the destructor wait for one more Leave(): another thread gives answers.
  void Stay() ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls `give` for each of `answers`: on this thread if there is only one, else on those of
  // `answerers`, if there are some, for which the destructor waits.
  template <typename Answer, typename Give>
  void GiveAnswers(std::list<Answer> answers, const Give& give) ABSL_LOCKS_EXCLUDED(mutex_);

  Clock* const clock_;
  ServingObserver* const observer_;
  mutable absl::Mutex mutex_;

 private:
  // The item is no longer owed an answer, though it gets it only after the lock.
  void Close(const Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes a place in the queue, and memory, for the item; or says why there is none.
  absl::Status TakePlace(Item& item, SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the item out of those that wait.
  std::shared_ptr<Item> TakeOut(Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetDeadline(const Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Item> Withdraw(Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::list<std::shared_ptr<Item>> TakeExpired(SteadyTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SteadyTime NextDeadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return deadlines_.empty() ? kNever : deadlines_.begin()->first;
  }
  // Answers a batch that did not reach the backend.
  void FailBatch(const Batch& batch) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnAlarm() ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return batches_in_flight_ == 0 && callers_inside_ == 0;
  }

  const WorkQueueOptions options_;
  const Resource items_resource_;
  const Resource bytes_resource_;
  bool is_draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_shut_ ABSL_GUARDED_BY(mutex_) = false;  // the destructor runs: nothing is launched
  Ticket next_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
  int batches_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t batches_ended_ ABSL_GUARDED_BY(mutex_) = 0;
  int callers_inside_ ABSL_GUARDED_BY(mutex_) = 0;  // each will call Leave()
  int open_items_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::btree_map<Ticket, std::shared_ptr<Item>> waiting_ ABSL_GUARDED_BY(mutex_);
  // Items that are launched and not closed.
  absl::btree_map<Ticket, std::shared_ptr<Item>> launched_ ABSL_GUARDED_BY(mutex_);
  FairShares shares_ ABSL_GUARDED_BY(mutex_);
  // Deadlines of the items that wait or are launched, and are not answered.
  std::set<std::pair<SteadyTime, Ticket>> deadlines_ ABSL_GUARDED_BY(mutex_);
  // Moment for which the alarm is set: the next one at which there may be work, or an earlier one.
  SteadyTime alarm_at_ ABSL_GUARDED_BY(mutex_) = kNever;
  std::unique_ptr<Alarm> alarm_;  // null after Shut()
};

// Implementation.

template <typename Item, typename Batch>
WorkQueue<Item, Batch>::WorkQueue(Clock* clock, ServingObserver* observer,
                                  const WorkQueueOptions& options)
    : clock_(clock),
      observer_(observer),
      options_(options),
      items_resource_(ItemsOf(options.kind)),
      bytes_resource_(BytesOf(options.kind)),
      shares_(options.ledger) {
  const ResourceBounds bounds = {.times_free = kTimesFree,
                                 .times_free_for_newcomers = kTimesFreeForNewcomers};
  ResourceBounds items = bounds;
  items.all = options.max_items;
  items.name = options.max_items_per_client;
  shares_.ledger().Bound(items_resource_, items);
  ResourceBounds bytes = bounds;
  bytes.all = options.max_bytes;
  shares_.ledger().Bound(bytes_resource_, bytes);
  alarm_ = clock_->MakeAlarm([this] { OnAlarm(); });
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::Shut() {
  {
    absl::MutexLock lock(&mutex_);
    is_draining_ = true;
    is_shut_ = true;
  }
  FailWaiting(DrainingStatus());
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &WorkQueue::IsIdle));
  }
  alarm_.reset();
}

template <typename Item, typename Batch>
absl::Status WorkQueue<Item, Batch>::TakePlace(Item& item, SteadyTime now) {
  if (is_draining_) return DrainingStatus();
  if (now >= item.deadline) return LateStatus(options_.kind);
  item.account = shares_.Open(item.client);
  item.queue_slot = Holding(item.account->holds(), items_resource_);
  item.queue_bytes = Holding(item.account->holds(), bytes_resource_);
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

template <typename Item, typename Batch>
bool WorkQueue<Item, Batch>::Admit(const std::shared_ptr<Item>& item) {
  absl::Status refusal;
  Work work;
  {
    absl::MutexLock lock(&mutex_);
    const SteadyTime now = clock_->Now();
    refusal = TakePlace(*item, now);
    if (refusal.ok()) {
      ++open_items_;
      item->ticket = next_ticket_++;
      item->ready_at = now;
      if (item->deadline != kNever) deadlines_.insert({item->deadline, item->ticket});
      waiting_.emplace(item->ticket, item);
      if (Enqueue(*item) || NextDeadline() < alarm_at_) work = TakeWork(now);
    }
  }
  if (!refusal.ok()) AnswerFailed(*item, refusal);
  Do(std::move(work));
  return refusal.ok();
}

template <typename Item, typename Batch>
Item* WorkQueue<Item, Batch>::FindWaiting(Ticket ticket) {
  const auto entry = waiting_.find(ticket);
  return entry == waiting_.end() ? nullptr : entry->second.get();
}

template <typename Item, typename Batch>
std::shared_ptr<Item> WorkQueue<Item, Batch>::Launch(Item& item, SteadyTime now, int64_t cost_ns) {
  item.queued = now - item.ready_at;
  item.cost_ns = cost_ns;
  shares_.Charge(item.account, cost_ns);
  std::shared_ptr<Item> owned = TakeOut(item);
  launched_.emplace(item.ticket, owned);
  return owned;
}

template <typename Item, typename Batch>
std::shared_ptr<Item> WorkQueue<Item, Batch>::TakeOut(Item& item) {
  item.queue_slot = Holding();
  item.queue_bytes = Holding();
  StopsWaiting(item);
  const auto entry = waiting_.find(item.ticket);
  std::shared_ptr<Item> owned = std::move(entry->second);
  waiting_.erase(entry);
  return owned;
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::ForgetDeadline(const Item& item) {
  if (item.deadline != kNever) deadlines_.erase({item.deadline, item.ticket});
}

template <typename Item, typename Batch>
std::shared_ptr<Item> WorkQueue<Item, Batch>::Withdraw(Item& item) {
  Dequeue(item);
  ForgetDeadline(item);
  std::shared_ptr<Item> owned = TakeOut(item);
  Close(*owned);
  return owned;
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::Close(const Item& item) {
  --open_items_;
  shares_.Close(item.account);
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::Cancel(Ticket ticket) {
  std::shared_ptr<Item> item;
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    Item* const waiting = FindWaiting(ticket);
    if (waiting == nullptr) {
      const auto launched = launched_.find(ticket);
      if (launched != launched_.end()) {
        launched->second->cancelled->store(true, std::memory_order_relaxed);
      }
      return;
    }
    status = GoneStatus(options_.kind, clock_->Now(), waiting->deadline);
    item = Withdraw(*waiting);
  }
  AnswerFailed(*item, status);
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::Fail(Ticket ticket, const absl::Status& status) {
  std::shared_ptr<Item> item;
  {
    absl::MutexLock lock(&mutex_);
    Item* const waiting = FindWaiting(ticket);
    if (waiting == nullptr) return;
    item = Withdraw(*waiting);
  }
  AnswerFailed(*item, status);
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::FailWaiting(const absl::Status& status) {
  std::list<std::shared_ptr<Item>> left;
  {
    absl::MutexLock lock(&mutex_);
    while (!waiting_.empty()) left.push_back(Withdraw(*waiting_.begin()->second));
  }
  for (auto& item : left) AnswerFailed(*item, status);
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::BeginDrain() {
  Work work;
  {
    absl::MutexLock lock(&mutex_);
    is_draining_ = true;
    work = TakeWork(clock_->Now());
  }
  Do(std::move(work));
}

template <typename Item, typename Batch>
int WorkQueue<Item, Batch>::open_items() const {
  absl::MutexLock lock(&mutex_);
  return open_items_;
}

template <typename Item, typename Batch>
BatchMotion WorkQueue<Item, Batch>::motion() const {
  absl::MutexLock lock(&mutex_);
  return {.in_flight = batches_in_flight_, .ended = batches_ended_};
}

template <typename Item, typename Batch>
std::list<std::shared_ptr<Item>> WorkQueue<Item, Batch>::TakeExpired(SteadyTime now) {
  std::list<std::shared_ptr<Item>> expired;
  while (NextDeadline() <= now) {
    const Ticket ticket = deadlines_.begin()->second;
    if (Item* const waiting = FindWaiting(ticket); waiting != nullptr) {
      expired.push_back(Withdraw(*waiting));
    } else {
      const auto launched = launched_.find(ticket);
      std::shared_ptr<Item> item = std::move(launched->second);
      item->cancelled->store(true, std::memory_order_relaxed);
      item->is_answered = true;
      launched_.erase(launched);
      deadlines_.erase(deadlines_.begin());
      --open_items_;
      expired.push_back(std::move(item));
    }
  }
  return expired;
}

template <typename Item, typename Batch>
typename WorkQueue<Item, Batch>::Work WorkQueue<Item, Batch>::TakeWork(SteadyTime now) {
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

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::Do(Work work) {
  // Most items of a busy server only join their queue.
  if (work.empty()) return;
  for (Batch& batch : work.batches) {
    try {
      Send(batch);
    } catch (const std::bad_alloc&) {
      FailBatch(batch);
    }
  }
  GiveAnswers(std::move(work.expired), [this](std::shared_ptr<Item> item) {
    AnswerFailed(*item, LateStatus(options_.kind));
  });
  Leave();
}

template <typename Item, typename Batch>
template <typename Kind, typename Answer, typename Submit>
void WorkQueue<Item, Batch>::Hand(Batch& batch, void (Kind::*done)(Batch, Answer),
                                  const Submit& submit) {
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

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::FailBatch(const Batch& batch) {
  BatchReturned(batch);
  std::deque<absl::Status> statuses(batch.items.size(), NoMemoryStatus(options_.kind));
  CloseBatch(batch, 0, [&statuses](size_t i) -> absl::Status& { return statuses[i]; });
  for (size_t i = 0; i < batch.items.size(); ++i) {
    if (!batch.items[i]->is_answered) AnswerFailed(*batch.items[i], statuses[i]);
  }
  Leave();
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::OnAlarm() {
  Work work;
  {
    absl::MutexLock lock(&mutex_);
    alarm_at_ = kNever;  // it has fired
    work = TakeWork(clock_->Now());
  }
  Do(std::move(work));
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::BatchReturned(const Batch& batch) {
  Work work;
  {
    absl::MutexLock lock(&mutex_);
    --batches_in_flight_;
    ++batches_ended_;
    ++callers_inside_;
    FreePlace(batch);
    work = TakeWork(clock_->Now());
  }
  Do(std::move(work));
}

template <typename Item, typename Batch>
template <typename StatusOf>
void WorkQueue<Item, Batch>::CloseBatch(const Batch& batch, int64_t taken_ns,
                                        const StatusOf& status_of) {
  int64_t charged_ns = 0;
  for (const auto& item : batch.items) charged_ns += item->cost_ns;
  absl::MutexLock lock(&mutex_);
  const SteadyTime now = clock_->Now();
  for (size_t i = 0; i < batch.items.size(); ++i) {
    const Item& item = *batch.items[i];
    if (taken_ns > 0) {
      const double part = charged_ns > 0
                              ? static_cast<double>(item.cost_ns) / static_cast<double>(charged_ns)
                              : 1.0 / static_cast<double>(batch.items.size());
      const auto own_ns = static_cast<int64_t>(part * static_cast<double>(taken_ns));
      shares_.Correct(item.account, own_ns - item.cost_ns);
    }
    if (item.is_answered) {
      shares_.Close(item.account);
      continue;
    }
    launched_.erase(item.ticket);
    ForgetDeadline(item);
    // The alarm may be later than the answer.
    absl::Status& status = status_of(i);
    if (now >= item.deadline) status = LateStatus(options_.kind);
    Close(item);
  }
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::GiveOutcomes(Batch batch, int64_t taken_ns) {
  CloseBatch(batch, taken_ns,
             [&](size_t i) -> absl::Status& { return batch.items[i]->outcome.status; });
  std::list<std::shared_ptr<Item>> owed;
  for (auto& item : batch.items) {
    if (!item->is_answered) owed.push_back(std::move(item));
  }
  batch.items.clear();
  GiveAnswers(std::move(owed),
              [](std::shared_ptr<Item> item) { std::move(item->done)(std::move(item->outcome)); });
  Leave();
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::Leave() {
  absl::MutexLock lock(&mutex_);
  --callers_inside_;
}

template <typename Item, typename Batch>
void WorkQueue<Item, Batch>::Stay() {
  absl::MutexLock lock(&mutex_);
  ++callers_inside_;
}

template <typename Item, typename Batch>
template <typename Answer, typename Give>
void WorkQueue<Item, Batch>::GiveAnswers(std::list<Answer> answers, const Give& give) {
  if (options_.answerers == nullptr || answers.size() < 2) {
    for (Answer& answer : answers) give(std::move(answer));
    return;
  }
  const auto parts = static_cast<size_t>(options_.answerers->threads());
  const size_t each = (answers.size() + parts - 1) / parts;
  while (!answers.empty()) {
    const size_t count = std::min(each, answers.size());
    std::list<Answer> some;
    some.splice(some.begin(), answers, answers.begin(),
                std::next(answers.begin(), static_cast<ptrdiff_t>(count)));
    Stay();
    options_.answerers->Run(ClientId{}, {}, [this, give, some = std::move(some)]() mutable {
      for (Answer& answer : some) give(std::move(answer));
      some.clear();
      Leave();
    });
  }
}

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_WORK_QUEUE_H_
