// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Who may have a stream open when not all may.
//
// While places are free, everyone gets one. When all are taken, a newcomer takes the place of a
// stream of the owner that has most of them, in relation to its weight, as long as that owner has
// no less than the newcomer's afterwards. Inside an owner the names are equal in the same way. Two
// clients never take each other's places in turns, because a place only moves to a client that has
// two fewer.
//
// A client that has no stream also takes the place of one that is of little use at the moment, even
// if no other client has two: otherwise many names with one stream each would keep all newcomers
// out. These are streams that have not sent a frame yet, and those that have been silent for a
// while.
//
// A stream that has not sent a frame goes first of those that may go. It is the oldest one of the
// connection that has most of these, so that a newcomer on a connection of its own has time to
// send, however many streams others open. Then goes the one that has been silent longest.

#ifndef ORBSERVE_SERVER_SERVING_STREAM_STREAM_PLACES_H_
#define ORBSERVE_SERVER_SERVING_STREAM_STREAM_PLACES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <set>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "server/clients/client_id.h"
#include "server/clients/ledger.h"
#include "server/process/clock.h"

namespace orbserve {

struct StreamPlacesOptions {
  int max_streams = 256;            // >= 1
  int max_streams_per_owner = 256;  // >= 1
  // A stream is silent when it has sent no frame for so long. A camera sends more often.
  std::chrono::milliseconds silence{250};
};

// Not thread-safe.
class StreamPlaces {
 public:
  struct Admission {
    uint64_t id = 0;       // from 1
    uint64_t removed = 0;  // stream that lost its place, 0 = none
  };

  // The ledger counts the places, and must outlive this.
  StreamPlaces(Ledger* ledger, const StreamPlacesOptions& options);

  // `connection`: its name, as the address and port of the peer. QUOTA_EXCEEDED: the client has its
  // share, or all have theirs.
  absl::StatusOr<Admission> Add(const ClientId& client, const std::string& connection,
                                SteadyTime now);
  // The stream has sent a frame. Does nothing for a stream without a place.
  void Touch(uint64_t id, SteadyTime now);
  // Does nothing for a stream without a place.
  void Remove(uint64_t id);

  size_t size() const { return streams_.size(); }

 private:
  using List = std::list<uint64_t>;
  // Streams that have not sent a frame. Streams that were opened later have larger numbers.
  class Unused {
   public:
    void Add(const std::string& connection, uint64_t id);
    void Remove(const std::string& connection, uint64_t id);
    bool empty() const { return order_.empty(); }
    uint64_t front() const { return order_.begin()->second; }

   private:
    using Ids = std::set<uint64_t>;
    void Enter(const Ids& ids) { order_.insert(PlaceOf(ids)); }
    void Leave(const Ids& ids) { order_.erase(PlaceOf(ids)); }
    // A connection with more streams comes first, then the one with the oldest.
    static std::pair<int64_t, uint64_t> PlaceOf(const Ids& ids) {
      return {-static_cast<int64_t>(ids.size()), *ids.begin()};
    }

    absl::btree_map<std::string, Ids> of_connections_;  // none is empty
    std::set<std::pair<int64_t, uint64_t>> order_;      // of the connections
  };
  // Streams in the order in which they have to go.
  struct Order {
    Unused unused;
    List used;  // silent longest first

    uint64_t front() const { return unused.empty() ? used.front() : unused.front(); }
  };
  struct Stream {
    ClientId client;
    std::string connection;
    Holding place;
    bool is_used = false;
    // These are set if is_used.
    SteadyTime last;  // frame
    List::iterator in_all;
    List::iterator in_owner;
  };
  struct Owner {
    Order streams;
    std::set<std::pair<int64_t, std::string>> by_count;  // names by their streams, none has 0
  };

  static int64_t CountOf(const Ledger::Account& account) {
    return account.held(Resource::kStreams);
  }
  // Streams of the owner, if there were `change` more, by its weight.
  static double Load(const Ledger::Account& account, int64_t change) {
    return static_cast<double>(account.held_by_owner(Resource::kStreams) + change) /
           account.weight();
  }
  const Ledger::Account& AccountOf(uint64_t id) const { return *streams_.at(id).place.account(); }
  bool IsOfLittleUse(uint64_t id, SteadyTime now) const {
    const Stream& stream = streams_.at(id);
    return !stream.is_used || now - stream.last >= options_.silence;
  }
  // Sorts the owner and the name of an account, which has had `change` streams fewer until now.
  void Sort(const Ledger::Account& account, const ClientId& client, int64_t change);
  uint64_t Enter(const ClientId& client, const std::string& connection, Holding place);
  // The first to go of the name of the owner that has most streams.
  uint64_t FirstOfLargest(const std::string& owner) const;
  // The stream that makes room for one of `client`, 0 = none: among those of its owner, among all.
  uint64_t VictimInside(const ClientId& client, const Ledger::Account& account,
                        SteadyTime now) const;
  uint64_t Victim(const ClientId& client, const Ledger::Account& account, SteadyTime now) const;

  Ledger& ledger_;
  const StreamPlacesOptions options_;
  uint64_t next_id_ = 1;
  absl::btree_map<uint64_t, Stream> streams_;
  Order all_;
  absl::btree_map<std::string, Owner> owners_;  // none is empty
  std::set<std::pair<double, std::string>> by_load_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_STREAM_PLACES_H_
