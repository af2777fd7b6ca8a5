// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/http/http_endpoint.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "server/edge/http/http_request.h"
#include "server/edge/listen_sockets.h"
#include "server/process/file_descriptor.h"
#include "server/process/upkeep.h"

namespace orbserve {
namespace {

using Time = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

constexpr int kMaxEvents = 64;
constexpr int kSweepMs = 100;  // period in which overdue connections are closed
// What a client still sends is read for so long after the answer. Closing earlier would make the
// system reset the connection, and the client might lose the answer.
constexpr milliseconds kLingerTime{1'000};
constexpr milliseconds kUserTimeout{10'000};

// An event of epoll is about a connection, by its number, or about one of these.
constexpr uint64_t kWake = uint64_t{1} << 63;
constexpr uint64_t kListening = uint64_t{1} << 62;  // plus the index of the socket

constexpr std::future_status kReady = std::future_status::ready;

constexpr char kPlainText[] = "text/plain; charset=utf-8";

constexpr absl::string_view kUnavailable = "503 Service Unavailable";

constexpr absl::string_view kHealthPath = "/healthz";
constexpr absl::string_view kReadyPath = "/readyz";

struct Response {
  absl::string_view status = "200 OK";
  absl::string_view content_type = kPlainText;
  absl::string_view extra_headers;  // whole lines
  std::string body;
};

// The status that answers a page's error.
absl::string_view StatusOf(const absl::Status& error) {
  if (absl::IsInvalidArgument(error)) return "400 Bad Request";
  return absl::IsNotFound(error) ? "404 Not Found" : kUnavailable;
}

std::string ToText(const Response& response, bool with_body) {
  std::string text = absl::StrCat(
      "HTTP/1.1 ", response.status, "\r\nContent-Type: ", response.content_type,
      "\r\nContent-Length: ", response.body.size(), "\r\n", response.extra_headers,
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n");
  if (with_body) absl::StrAppend(&text, response.body);
  return text;
}

enum class Phase {
  kReading,
  kWaiting,    // its answer is not being made yet
  kAnswering,  // its answer is being made
  kWriting,
  kLingering,
};

// An answer as it is sent. Connections that asked for the same share it.
using AnswerText = std::shared_ptr<const std::string>;

struct Connection {
  FileDescriptor socket;
  Phase phase = Phase::kReading;
  Time deadline;
  std::string received;
  HttpRequest request;  // in kWaiting and kAnswering
  AnswerText answer;
  size_t sent = 0;
};

// One thread does all input and output and never blocks there. Callbacks run on short-lived
// threads: one at a time for pages and one for readiness, which therefore waits for no page. Each
// makes one answer, for the connection that has waited longest and for all others that wait for the
// same. Nothing is queued but the connections themselves: a client that is gone waits for nothing.
class HttpServer final : public HttpEndpoint {
 public:
  HttpServer(const HttpEndpointOptions& options, std::vector<HttpPage> pages,
             std::function<absl::Status()> ready)
      : options_(options), pages_(std::move(pages)), ready_(std::move(ready)) {}

  ~HttpServer() override {
    if (!thread_.joinable()) return;
    ending_ = true;
    Wake();
    thread_.join();
  }

  absl::Status Start() {
    // An empty host is every interface.
    const absl::string_view host = absl::StartsWith(options_.listen_address, ":") ? "0.0.0.0" : "";
    auto sockets = ListenSockets::Bind(absl::StrCat(host, options_.listen_address), kUserTimeout);
    if (!sockets.ok()) {
      return absl::UnavailableError(absl::StrCat("http_listen: ", sockets.status().message()));
    }
    sockets_ = *std::move(sockets);
    epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
    wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    bool watched = epoll_ && wake_ && Watch(EPOLL_CTL_ADD, wake_.get(), EPOLLIN, kWake);
    for (size_t i = 0; i < sockets_.sockets().size(); ++i) {
      watched =
          watched && Watch(EPOLL_CTL_ADD, sockets_.sockets()[i].get(), EPOLLIN, kListening + i);
    }
    if (!watched) return CannotServeHttp(ErrorText(errno));
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }

  int port() const override { return sockets_.port(); }

 private:
  // Answers that are made one at a time.
  struct Kind {
    std::jthread maker;
    std::future<AnswerText> answer;  // while one is being made
  };
  Kind& KindOf(const HttpRequest& request) { return kinds_[request.path == kReadyPath ? 1 : 0]; }

  absl::Status CannotServeHttp(absl::string_view reason) const {
    return absl::UnavailableError(
        absl::StrCat("cannot serve HTTP on ", options_.listen_address, ": ", reason));
  }

  bool Watch(int operation, int descriptor, uint32_t events, uint64_t about) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = about;
    return epoll_ctl(epoll_.get(), operation, descriptor, &event) == 0;
  }

  void Wake() {
    const uint64_t one = 1;
    // A full counter wakes as well.
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  }

  // ---- the thread of input and output

  void Run() {
    std::array<epoll_event, kMaxEvents> events;
    Time next_sweep;
    for (;;) {
      const int wait_ms = connections_.empty() ? -1 : kSweepMs;
      const int count = epoll_wait(epoll_.get(), events.data(), kMaxEvents, wait_ms);
      now_ = std::chrono::steady_clock::now();
      for (int i = 0; i < count; ++i) {
        const uint64_t about = events[static_cast<size_t>(i)].data.u64;
        if (about == kWake) {
          if (ending_) return;
          TakeAnswers();
        } else if ((about & kListening) != 0) {
          Accept(sockets_.sockets()[about - kListening].get());
        } else {
          Move(about);
        }
      }
      if (now_ >= next_sweep) {
        next_sweep = now_ + milliseconds(kSweepMs);
        CloseOverdue();
      }
      BeginAnswers();
      CountUpkeep();
    }
  }

  void Accept(int listening) {
    for (int i = 0; i < kMaxEvents; ++i) {
      FileDescriptor accepted(accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!accepted) {
        if (errno == EAGAIN) return;
        const bool is_short =
            errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (is_short && !MakeRoom()) std::this_thread::sleep_for(milliseconds(10));
        if (is_short) return;
        continue;
      }
      if (connections_.size() >= static_cast<size_t>(options_.max_connections) && !MakeRoom()) {
        continue;
      }
      const uint64_t number = ++last_number_;
      if (!Watch(EPOLL_CTL_ADD, accepted.get(), EPOLLIN, number)) continue;
      Connection& connection = connections_[number];
      connection.socket = std::move(accepted);
      connection.deadline = now_ + options_.request_time;
    }
  }

  // Closes the connection that had its answer first, else the oldest. A probe thus keeps its place
  // while it is answered, whatever the other connections do. Returns false where there is none.
  bool MakeRoom() {
    auto slowest = std::find_if(connections_.begin(), connections_.end(), [](const auto& entry) {
      return entry.second.phase == Phase::kLingering;
    });
    if (slowest == connections_.end()) slowest = connections_.begin();
    if (slowest == connections_.end()) return false;
    connections_.erase(slowest);
    return true;
  }

  void CloseOverdue() {
    for (auto next = connections_.begin(); next != connections_.end();) {
      const Connection& connection = next->second;
      const bool is_over = !IsOwed(connection) && connection.deadline <= now_;
      next = is_over ? connections_.erase(next) : std::next(next);
    }
  }

  // It has sent its request and waits for us.
  static bool IsOwed(const Connection& connection) {
    return connection.phase == Phase::kWaiting || connection.phase == Phase::kAnswering;
  }

  // Reads or writes what goes without waiting.
  void Move(uint64_t number) {
    const auto found = connections_.find(number);
    if (found == connections_.end()) return;
    bool lives = true;
    switch (found->second.phase) {
      case Phase::kReading:
        lives = Read(number, found->second);
        break;
      case Phase::kWaiting:
      case Phase::kAnswering:
        lives = false;  // nothing is watched but errors and resets
        break;
      case Phase::kWriting:
        lives = Write(number, found->second);
        break;
      case Phase::kLingering:
        lives = Discard(found->second);
        break;
    }
    if (!lives) connections_.erase(found);
  }

  // These return false when the connection is over.

  bool Read(uint64_t number, Connection& connection) {
    std::array<char, 4096> bytes;
    const ssize_t count = recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    connection.received.append(bytes.data(), static_cast<size_t>(count));
    HttpRequest request = ReadHttpRequest(connection.received);
    if (request.state == HttpRequest::State::kIncomplete) return true;
    if (request.state != HttpRequest::State::kComplete ||
        (FindPage(request.path) == nullptr && request.path != kReadyPath)) {
      return Send(number, connection, ToText(AnswerAtOnce(request), request.method != "HEAD"));
    }
    connection.phase = Phase::kWaiting;
    connection.received = {};
    connection.request = std::move(request);
    return Watch(EPOLL_CTL_MOD, connection.socket.get(), 0, number);
  }

  bool Send(uint64_t number, Connection& connection, std::string answer) {
    return Send(number, connection, std::make_shared<const std::string>(std::move(answer)));
  }

  bool Send(uint64_t number, Connection& connection, AnswerText answer) {
    connection.phase = Phase::kWriting;
    connection.answer = std::move(answer);
    connection.deadline = now_ + options_.request_time;
    if (!Watch(EPOLL_CTL_MOD, connection.socket.get(), EPOLLOUT, number)) return false;
    return Write(number, connection);
  }

  bool Write(uint64_t number, Connection& connection) {
    const std::string& answer = *connection.answer;
    while (connection.sent < answer.size()) {
      const ssize_t count = send(connection.socket.get(), answer.data() + connection.sent,
                                 answer.size() - connection.sent, MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      connection.sent += static_cast<size_t>(count);
    }
    connection.phase = Phase::kLingering;
    connection.deadline = now_ + kLingerTime;
    connection.answer = nullptr;
    shutdown(connection.socket.get(), SHUT_WR);
    return Watch(EPOLL_CTL_MOD, connection.socket.get(), EPOLLIN, number);
  }

  static bool Discard(const Connection& connection) {
    std::array<char, 4096> bytes;
    const ssize_t count = recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
  }

  void TakeAnswers() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t size = read(wake_.get(), &count, sizeof(count));
    for (Kind& kind : kinds_) {
      if (!kind.answer.valid() || kind.answer.wait_for(milliseconds(0)) != kReady) continue;
      const AnswerText answer = kind.answer.get();
      for (auto next = connections_.begin(); next != connections_.end();) {
        auto& [number, connection] = *next;
        const bool is_meant =
            connection.phase == Phase::kAnswering && &KindOf(connection.request) == &kind;
        next = is_meant && !Send(number, connection, answer) ? connections_.erase(next)
                                                             : std::next(next);
      }
    }
  }

  void BeginAnswers() {
    for (Kind& kind : kinds_) {
      if (kind.answer.valid()) continue;
      const HttpRequest* first = nullptr;  // of the connection that has waited longest
      for (auto& [number, connection] : connections_) {
        if (connection.phase != Phase::kWaiting || &KindOf(connection.request) != &kind) continue;
        if (first == nullptr) first = &connection.request;
        if (*first == connection.request) connection.phase = Phase::kAnswering;
      }
      if (first == nullptr) continue;
      const auto made = std::make_shared<std::promise<AnswerText>>();
      kind.answer = made->get_future();
      try {
        kind.maker = std::jthread([this, made, request = *first] {
          made->set_value(Make(request));
          CountUpkeep();
          Wake();
        });
      } catch (const std::system_error&) {  // no more threads
        made->set_value(std::make_shared<const std::string>(
            ToText({kUnavailable, kPlainText, "", "no thread is left for this\n"}, true)));
        Wake();
      }
    }
  }

  // ---- threads that make answers

  AnswerText Make(const HttpRequest& request) const {
    Response response;
    try {
      response = Answer(request);
    } catch (const std::exception& error) {
      response = {"500 Internal Server Error", kPlainText, "", absl::StrCat(error.what(), "\n")};
    }
    return std::make_shared<const std::string>(ToText(response, request.method != "HEAD"));
  }

  const HttpPage* FindPage(absl::string_view path) const {
    const auto page = std::find_if(pages_.begin(), pages_.end(),
                                   [path](const HttpPage& each) { return each.path == path; });
    return page == pages_.end() ? nullptr : &*page;
  }

  // Answers a request that needs no callback.
  Response AnswerAtOnce(const HttpRequest& request) const {
    switch (request.state) {
      case HttpRequest::State::kBad:
        return {"400 Bad Request", kPlainText, "", "bad request\n"};
      case HttpRequest::State::kTooLarge:
        return {"431 Request Header Fields Too Large", kPlainText, "",
                "requests may have 16 KiB\n"};
      case HttpRequest::State::kVersionUnsupported:
        return {"505 HTTP Version Not Supported", kPlainText, "", "only HTTP/1.0 and HTTP/1.1\n"};
      default:
        break;
    }
    if (request.path == kHealthPath) {
      return IsReading(request) ? Response{.body = "ok\n"} : OnlyReading();
    }
    std::string body = "not found; there are ";
    for (const HttpPage& page : pages_) absl::StrAppend(&body, page.path, ", ");
    absl::StrAppend(&body, kHealthPath, ", ", kReadyPath, "\n");
    return {"404 Not Found", kPlainText, "", std::move(body)};
  }

  Response Answer(const HttpRequest& request) const {
    if (!IsReading(request)) return OnlyReading();
    if (const HttpPage* const page = FindPage(request.path); page != nullptr) {
      absl::StatusOr<std::string> body = page->render(request.query);
      if (body.ok()) return {"200 OK", page->content_type, page->extra_headers, *std::move(body)};
      return {StatusOf(body.status()), kPlainText, "", absl::StrCat(body.status().message(), "\n")};
    }
    const absl::Status ready = ready_();
    if (ready.ok()) return {.body = "ready\n"};
    return {kUnavailable, kPlainText, "", absl::StrCat("not ready: ", ready.message(), "\n")};
  }

  static bool IsReading(const HttpRequest& request) {
    return request.method == "GET" || request.method == "HEAD";
  }
  static Response OnlyReading() {
    return {"405 Method Not Allowed", kPlainText, "Allow: GET, HEAD\r\n", "only GET and HEAD\n"};
  }

  const HttpEndpointOptions options_;
  const std::vector<HttpPage> pages_;
  const std::function<absl::Status()> ready_;

  // Only the thread of input and output uses these, once it runs.
  ListenSockets sockets_;
  FileDescriptor epoll_;
  FileDescriptor wake_;
  std::map<uint64_t, Connection> connections_;  // the oldest first
  uint64_t last_number_ = 0;
  Time now_;

  std::array<Kind, 2> kinds_;  // pages, readiness

  std::atomic<bool> ending_{false};
  std::thread thread_;  // of input and output
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Create(
    const HttpEndpointOptions& options, std::vector<HttpPage> pages,
    std::function<absl::Status()> ready) {
  auto server = std::make_unique<HttpServer>(options, std::move(pages), std::move(ready));
  ORBSERVE_RETURN_IF_ERROR(server->Start());
  return server;
}

}  // namespace orbserve
