// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/connection_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace orbserve {
namespace {

constexpr int kMaxLooks = 64;

// The network of `bits` bits, a multiple of 8, that an address of `size` bytes is in.
std::string NetworkOf(int family, const void* address, size_t size, size_t bits) {
  in6_addr network = {};  // large enough for both families
  std::memcpy(&network, address, std::min(size, bits / 8));
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(family, &network, text, sizeof(text));
  return bits == 8 * size ? std::string(text) : absl::StrCat(text, "/", bits);
}

PeerKeys KeysOfIpv4(const void* address, int port) {
  PeerKeys keys;
  keys.address = NetworkOf(AF_INET, address, sizeof(in_addr), 32);
  keys.network = NetworkOf(AF_INET, address, sizeof(in_addr), 24);
  keys.endpoint = absl::StrCat(keys.address, " ", port);
  return keys;
}

// A client's part of the handshake of HTTP/2 is shorter: preface, settings, a window.
constexpr int kHandshakeBytes = 256;

// True if gRPC has not read what the client sent, and that is more than a handshake: on a busy
// machine the client's call may be among it.
bool HasUnreadCall(const TrackedConnection& connection) {
  int unread_bytes = 0;
  return connection.stage == TrackedConnection::Stage::kServed &&
         ioctl(connection.duplicate.get(), FIONREAD, &unread_bytes) == 0 &&
         unread_bytes > kHandshakeBytes;
}

}  // namespace

PeerKeys PeerKeysOf(const SocketAddress& peer) {
  if (peer.family() == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(peer.storage);
    return KeysOfIpv4(&ipv4.sin_addr, PortOf(peer));
  }
  if (peer.family() != AF_INET6) {
    return {{reinterpret_cast<const char*>(&peer.storage), peer.size}, kUnixPeer, kUnixPeer};
  }
  const in6_addr& ipv6 = reinterpret_cast<const sockaddr_in6&>(peer.storage).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&ipv6)) return KeysOfIpv4(ipv6.s6_addr + 12, PortOf(peer));
  return {absl::StrCat(NetworkOf(AF_INET6, &ipv6, sizeof(ipv6), 128), " ", PortOf(peer)),
          NetworkOf(AF_INET6, &ipv6, sizeof(ipv6), 64),
          NetworkOf(AF_INET6, &ipv6, sizeof(ipv6), 48)};
}

void ConnectionTable::Groups::Add(const std::string& network, const std::string& member,
                                  uint64_t number) {
  Network& of_network = networks_[network];
  of_network.members[member].insert(number);
  ++of_network.count;
  ++count_;
}

void ConnectionTable::Groups::Remove(const std::string& network, const std::string& member,
                                     uint64_t number) {
  const auto of_network = networks_.find(network);
  const auto of_member = of_network->second.members.find(member);
  of_member->second.erase(number);
  if (of_member->second.empty()) of_network->second.members.erase(of_member);
  if (--of_network->second.count == 0) networks_.erase(of_network);
  --count_;
}

int ConnectionTable::Groups::count(const std::string& network) const {
  const auto found = networks_.find(network);
  return found == networks_.end() ? 0 : found->second.count;
}

const std::set<uint64_t>* ConnectionTable::Groups::Of(const std::string& network,
                                                      const std::string& member) const {
  const auto of_network = networks_.find(network);
  if (of_network == networks_.end()) return nullptr;
  const auto found = of_network->second.members.find(member);
  return found == of_network->second.members.end() ? nullptr : &found->second;
}

std::pair<const std::string*, const std::set<uint64_t>*> ConnectionTable::Groups::Fullest() const {
  const auto network = std::max_element(
      networks_.begin(), networks_.end(),
      [](const auto& one, const auto& other) { return one.second.count < other.second.count; });
  const auto& members = network->second.members;
  const auto member = std::max_element(
      members.begin(), members.end(),
      [](const auto& one, const auto& other) { return one.second.size() < other.second.size(); });
  return {&network->first, &member->second};
}

const std::string& ConnectionTable::NetworkOfOwner(const PeerKeys& peer) const {
  static const std::string anywhere;
  return bounds_.has_credentials ? anywhere : peer.network;
}

ConnectionTable::Decision ConnectionTable::RoomFor(const PeerKeys& peer, int queued,
                                                   int64_t now_ms) {
  const auto of_address = by_address_.find(peer.address);
  const int same_address = of_address == by_address_.end() ? 0 : of_address->second;
  if (same_address >= bounds_.max_connections_per_address) {
    if (const auto* const unproven = unproven_.Of(peer.network, peer.address)) {
      const Decision decision = PreemptUnproven(*unproven, queued, now_ms);
      if (decision.room == Room::kPreempt || same_address > size() / 2) return decision;
      return {Room::kAddressFull};
    }
    const uint64_t idle = LongestIdle(peer.address, now_ms);
    return {idle == 0 ? Room::kAddressFull : Room::kPreempt, idle};
  }
  if (unproven_.count() < bounds_.max_unproven() && size() < bounds_.max_connections) return {};
  if (unproven_.count() > 0) {
    return PreemptUnproven(*unproven_.Fullest().second, queued, now_ms);
  }
  const uint64_t idle = LongestIdle("", now_ms);
  return {idle == 0 ? Room::kFull : Room::kPreempt, idle};
}

ConnectionTable::Decision ConnectionTable::PreemptUnproven(const std::set<uint64_t>& numbers,
                                                           int queued, int64_t now_ms) const {
  // So many connections pass in this time as there are places.
  const int64_t places =
      std::min(bounds_.max_unproven(), bounds_.max_connections - proven_.count());
  const int64_t newcomer_ms = std::clamp(bounds_.max_queue_ms * places / std::max(queued, 1),
                                         bounds_.least_newcomer_ms, bounds_.newcomer_ms);
  // The smallest rank and the oldest of it, among the oldest: a flood must not cost a look at all.
  enum Rank { kSilent, kHandshake, kCall, kNone };
  uint64_t first = 0;
  Rank first_rank = kNone;
  int looks = 0;
  for (auto number = numbers.begin(); number != numbers.end() && looks < kMaxLooks;
       ++number, ++looks) {
    const TrackedConnection& connection = connections_.find(*number)->second;
    const GuardView view = look_(connection);
    if (view.is_answered) return {Room::kPreempt, *number};
    const Rank rank = connection.stage == TrackedConnection::Stage::kSilent ? kSilent
                      : view.calls == 0 && !HasUnreadCall(connection)       ? kHandshake
                                                                            : kCall;
    const int64_t most_ms = rank == kSilent ? bounds_.max_arrival_ms
                            : connection.stage == TrackedConnection::Stage::kHandshake
                                ? bounds_.max_answer_ms
                                : bounds_.newcomer_ms;
    const int64_t least_ms = rank == kCall ? std::max(newcomer_ms, bounds_.least_call_ms)
                                           : std::min(newcomer_ms, most_ms);
    if (rank >= first_rank || now_ms - connection.turn_ms < least_ms) continue;
    if (bounds_.makes_handshakes && connection.has_arrived) continue;
    first = *number;
    first_rank = rank;
    if (rank == kSilent) break;
  }
  return {first == 0 ? Room::kLater : Room::kPreempt, first};
}

uint64_t ConnectionTable::LongestIdle(const std::string& address, int64_t now_ms) {
  if (now_ms < no_idle_until_ms_) return 0;
  uint64_t longest = 0;
  int64_t last_call_ms = now_ms - bounds_.idle_ms + 1;
  int64_t earliest_ms = now_ms;
  for (const auto& [number, connection] : connections_) {
    if (!connection.is_proven) continue;
    const GuardView view = look_(connection);
    earliest_ms = std::min(earliest_ms, view.last_call_ms);
    if (view.last_call_ms >= last_call_ms) continue;
    if (!address.empty() && connection.peer.address != address) continue;
    longest = number;
    last_call_ms = view.last_call_ms;
  }
  no_idle_until_ms_ = earliest_ms + bounds_.idle_ms;
  return longest;
}

ConnectionTable::Decision ConnectionTable::RoomForProven(const PeerKeys& peer,
                                                         const std::string& owner, int64_t now_ms) {
  if (proven_.count() < bounds_.max_proven()) return {};
  if (const uint64_t idle = LongestIdle("", now_ms); idle != 0) {
    return {Room::kPreempt, idle};
  }
  const auto [network, numbers] = proven_.Fullest();
  const std::string& own_network = NetworkOfOwner(peer);
  const auto* const own = proven_.Of(own_network, owner);
  const size_t own_count = own == nullptr ? 0 : own->size();
  const bool is_fuller = *network == own_network
                             ? numbers->size() > own_count + 1
                             : proven_.count(*network) > proven_.count(own_network) + 1;
  if (!is_fuller) return {Room::kFull};
  const auto last_call_ms = [this](uint64_t number) {
    return look_(connections_.find(number)->second).last_call_ms;
  };
  const auto longest = std::min_element(
      numbers->begin(), numbers->end(),
      [&](uint64_t one, uint64_t other) { return last_call_ms(one) < last_call_ms(other); });
  return {Room::kPreempt, *longest};
}

uint64_t ConnectionTable::Add(TrackedConnection connection) {
  const uint64_t number = ++last_number_;
  connection.turn_ms = connection.opened_ms;
  by_descriptor_[connection.descriptor] = number;
  if (!connection.is_self_check) {
    by_endpoint_[connection.peer.endpoint] = number;
    ++by_address_[connection.peer.address];
    unproven_.Add(connection.peer.network, connection.peer.address, number);
  }
  connections_.emplace(number, std::move(connection));
  return number;
}

void ConnectionTable::Prove(uint64_t number, const std::string& owner) {
  TrackedConnection& connection = connections_.find(number)->second;
  unproven_.Remove(connection.peer.network, connection.peer.address, number);
  connection.is_proven = true;
  connection.owner = owner;
  proven_.Add(NetworkOfOwner(connection.peer), owner, number);
}

void ConnectionTable::SetArrived(uint64_t number) {
  TrackedConnection& connection = connections_.find(number)->second;
  if (std::exchange(connection.has_arrived, true)) return;
  WaitingLike(connection).Add(connection.peer.network, connection.peer.address, number);
}

uint64_t ConnectionTable::NextArrival() {
  if (!has_arrivals()) return 0;
  const auto& networks = (answered_.count() > 0 ? answered_ : arrived_).networks();
  const auto network = std::min_element(
      networks.begin(), networks.end(), [this](const auto& one, const auto& other) {
        return unproven_.count(one.first) < unproven_.count(other.first);
      });
  const auto count = [&](const std::string& address) {
    const auto* const numbers = unproven_.Of(network->first, address);
    return numbers == nullptr ? 0 : numbers->size();
  };
  const auto& addresses = network->second.members;
  const auto address = std::min_element(
      addresses.begin(), addresses.end(),
      [&](const auto& one, const auto& other) { return count(one.first) < count(other.first); });
  const uint64_t number =
      bounds_.makes_handshakes ? *address->second.begin() : *address->second.rbegin();
  TrackedConnection& connection = connections_.find(number)->second;
  connection.has_arrived = false;
  WaitingLike(connection).Remove(connection.peer.network, connection.peer.address, number);
  return number;
}

TrackedConnection* ConnectionTable::Find(uint64_t number) {
  const auto found = connections_.find(number);
  return found == connections_.end() ? nullptr : &found->second;
}

uint64_t ConnectionTable::NumberOf(int descriptor) const {
  const auto found = by_descriptor_.find(descriptor);
  return found == by_descriptor_.end() ? 0 : found->second;
}

std::vector<uint64_t> ConnectionTable::UnprovenAt(const std::string& endpoint) const {
  std::vector<uint64_t> unproven;
  if (endpoint == kUnixPeer) {
    const auto* const numbers = unproven_.Of(kUnixPeer, kUnixPeer);
    if (numbers == nullptr) return unproven;
    std::copy_if(numbers->begin(), numbers->end(), std::back_inserter(unproven),
                 [this](uint64_t number) { return look_(connections_.at(number)).calls > 0; });
    return unproven;
  }
  const auto found = by_endpoint_.find(endpoint);
  if (found != by_endpoint_.end() && !connections_.at(found->second).is_proven) {
    unproven.push_back(found->second);
  }
  return unproven;
}

void ConnectionTable::Remove(uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  const TrackedConnection& connection = found->second;
  const auto named = by_descriptor_.find(connection.descriptor);
  if (named != by_descriptor_.end() && named->second == number) by_descriptor_.erase(named);
  if (connection.has_arrived) {
    WaitingLike(connection).Remove(connection.peer.network, connection.peer.address, number);
  }
  if (!connection.is_self_check) {
    const PeerKeys& peer = connection.peer;
    const auto at = by_endpoint_.find(peer.endpoint);
    if (at != by_endpoint_.end() && at->second == number) by_endpoint_.erase(at);
    const auto of_address = by_address_.find(peer.address);
    if (--of_address->second == 0) by_address_.erase(of_address);
    if (connection.is_proven) {
      proven_.Remove(NetworkOfOwner(peer), connection.owner, number);
    } else {
      unproven_.Remove(peer.network, peer.address, number);
    }
  }
  connections_.erase(found);
}

}  // namespace orbserve
