// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Who a call is made for.

#ifndef ORBSERVE_SERVER_CLIENTS_CLIENT_ID_H_
#define ORBSERVE_SERVER_CLIENTS_CLIENT_ID_H_

#include <string>
#include <utility>

namespace orbserve {

// The owner is who a share of the server belongs to: a certificate, a token, else the address of
// the peer without its port. The name is the full name of the client: one owner may have many, such
// as the cameras of a robot, which divide its share. References are kept by name.
//
// Both are empty for work that the server does for itself.
struct ClientId {
  std::string owner;
  std::string name;

  friend bool operator==(const ClientId& a, const ClientId& b) = default;
  template <typename H>
  friend H AbslHashValue(H state, const ClientId& id) {
    return H::combine(std::move(state), id.owner, id.name);
  }
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CLIENTS_CLIENT_ID_H_
