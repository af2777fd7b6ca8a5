// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/http/http_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kPage[] = "# HELP a_total A.\n# TYPE a_total counter\na_total 1\n";

// A TCP connection to a port of the loopback.
class Connection {
 public:
  explicit Connection(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    timeval timeout = {20, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Connection() { Close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool connected() const { return connected_; }
  // Ends the connection by a reset.
  void Reset() {
    const linger at_once = {1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    Close();
  }
  // False when the server has closed.
  bool Send(const std::string& text) {
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<size_t>(count);
    }
    return true;
  }
  // All that comes until the server closes.
  std::string ReceiveAll() {
    std::string text;
    char buffer[4096];
    for (ssize_t count = 0; (count = recv(socket_, buffer, sizeof(buffer), 0)) > 0;) {
      text.append(buffer, static_cast<size_t>(count));
    }
    return text;
  }

 private:
  void Close() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

  int socket_;
  bool connected_ = false;
};

std::string Ask(int port, const std::string& request) {
  Connection connection(port);
  EXPECT_TRUE(connection.connected());
  connection.Send(request);
  return connection.ReceiveAll();
}

std::string Get(int port, const std::string& path, const std::string& method = "GET") {
  return Ask(port, absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
}

// An endpoint's pages: only /metrics, with this text.
std::vector<HttpPage> MetricsPage(std::function<std::string()> render) {
  return {{"/metrics", kMetricsText,
           [render = std::move(render)](absl::string_view) { return render(); }}};
}

class HttpEndpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto endpoint = HttpEndpoint::Create(
        {.listen_address = "127.0.0.1:0"},
        {{"/metrics", kMetricsText,
          [this](absl::string_view) {
            if (fail_) throw std::runtime_error("no page today");
            return std::string(kPage);
          }},
         {"/echo", "text/html; charset=utf-8",
          [](absl::string_view query) -> absl::StatusOr<std::string> {
            if (query == "bad") return absl::InvalidArgumentError("no such query");
            if (query == "gone") return absl::NotFoundError("no such thing");
            if (query == "later") return absl::UnavailableError("not now");
            return std::string(query);
          },
          "Content-Security-Policy: default-src 'none'\r\n"}},
        [this] {
          return ready_ ? absl::OkStatus() : MakeError(ErrorReason::kDraining, "draining");
        });
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    endpoint_ = *std::move(endpoint);
    ASSERT_GT(endpoint_->port(), 0);
  }

  std::atomic<bool> ready_ = true;
  std::atomic<bool> fail_ = false;
  std::unique_ptr<HttpEndpoint> endpoint_;
};

TEST_F(HttpEndpointTest, MetricsAreServedAsPrometheusText) {
  EXPECT_THAT(Get(endpoint_->port(), "/metrics"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                    HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
                    HasSubstr(absl::StrCat("Content-Length: ", sizeof(kPage) - 1, "\r\n")),
                    EndsWith(absl::StrCat("\r\n\r\n", kPage))));
}

TEST_F(HttpEndpointTest, HeadHasTheHeadersAndNoBody) {
  EXPECT_THAT(Get(endpoint_->port(), "/metrics", "HEAD"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                    HasSubstr(absl::StrCat("Content-Length: ", sizeof(kPage) - 1, "\r\n")),
                    EndsWith("\r\n\r\n")));
}

TEST_F(HttpEndpointTest, QueryIsIgnored) {
  EXPECT_THAT(Get(endpoint_->port(), "/metrics?name%5B%5D=x"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpEndpointTest, HealthIsOfTheProcessAndReadinessOfTheServer) {
  EXPECT_THAT(Get(endpoint_->port(), "/healthz"),
              AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("ok\n")));
  EXPECT_THAT(Get(endpoint_->port(), "/readyz"),
              AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("ready\n")));
  ready_ = false;
  EXPECT_THAT(Get(endpoint_->port(), "/healthz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Get(endpoint_->port(), "/readyz"),
              AllOf(StartsWith("HTTP/1.1 503 "), EndsWith("not ready: draining\n")));
}

TEST_F(HttpEndpointTest, AnythingElseIsNotFound) {
  for (const char* path : {"/", "/metrics/", "/metricsx", "/metrics/../etc/passwd", "/healthz/x",
                           "/..", "/index.html", "/%2e%2e/etc/passwd", "/METRICS"}) {
    EXPECT_THAT(Get(endpoint_->port(), path), StartsWith("HTTP/1.1 404 ")) << path;
  }
}

TEST_F(HttpEndpointTest, OtherMethodsAreNotAllowed) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    EXPECT_THAT(Get(endpoint_->port(), "/metrics", method),
                AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD\r\n")))
        << method;
  }
}

TEST_F(HttpEndpointTest, ExceptionWhileRenderingIsAnErrorOfTheServer) {
  fail_ = true;
  EXPECT_THAT(Get(endpoint_->port(), "/metrics"), StartsWith("HTTP/1.1 500 "));
  fail_ = false;
  EXPECT_THAT(Get(endpoint_->port(), "/metrics"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpEndpointTest, MalformedAndOversizedRequestsAreRefused) {
  for (const std::string& request :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("\0\0\0\0\r\n\r\n", 8),
        std::string("GET /metrics HTTP/9.9\r\n\r\n"),
        absl::StrCat("GET /", std::string(100'000, 'a'), " HTTP/1.1\r\n\r\n"),
        absl::StrCat("GET /metrics HTTP/1.1\r\nX: ", std::string(100'000, 'a'), "\r\n\r\n")}) {
    EXPECT_THAT(Ask(endpoint_->port(), request), Not(HasSubstr(" 200 "))) << request.substr(0, 40);
  }
  EXPECT_THAT(Get(endpoint_->port(), "/healthz"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpEndpointTest, ServesSeveralAtATime) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        if (Get(endpoint_->port(), "/metrics").find(kPage) != std::string::npos) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 200);
}

TEST_F(HttpEndpointTest, EndlessBodyIsNotListenedTo) {
  Connection connection(endpoint_->port());
  connection.Send("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n");
  // The server closes at some point, or this goes on for ever.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (connection.Send(std::string(1000, 'x'))) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST_F(HttpEndpointTest, SlowPeersDoNotKeepTheProbesWaiting) {
  std::vector<std::unique_ptr<Connection>> slow;
  for (int i = 0; i < HttpEndpointOptions().max_connections + 50; ++i) {
    slow.push_back(std::make_unique<Connection>(endpoint_->port()));
    slow.back()->Send("GET /metr");
  }
  const auto begin = std::chrono::steady_clock::now();
  for (const char* path : {"/healthz", "/metrics", "/readyz"}) {
    EXPECT_THAT(Get(endpoint_->port(), path), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  // The last ones are still heard.
  slow.back()->Send("ics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(slow.back()->ReceiveAll(), EndsWith(kPage));
  EXPECT_EQ(slow.front()->ReceiveAll(), "");
}

TEST_F(HttpEndpointTest, PagesHaveTheirTypeHeadersAndQuery) {
  EXPECT_THAT(Get(endpoint_->port(), "/echo?n=3&x"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\r\nContent-Type: text/html; "),
                    HasSubstr("\r\nContent-Security-Policy: default-src 'none'\r\n"),
                    EndsWith("\r\n\r\nn=3&x")));
  EXPECT_THAT(Get(endpoint_->port(), "/echo"), EndsWith("\r\n\r\n"));
}

TEST_F(HttpEndpointTest, ErrorsOfPagesAreAnsweredByTheirCodes) {
  EXPECT_THAT(Get(endpoint_->port(), "/echo?bad"),
              AllOf(StartsWith("HTTP/1.1 400 "), EndsWith("\r\n\r\nno such query\n")));
  EXPECT_THAT(Get(endpoint_->port(), "/echo?gone"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get(endpoint_->port(), "/echo?later"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(Get(endpoint_->port(), "/echo?bad", "POST"), StartsWith("HTTP/1.1 405 "));
}

TEST_F(HttpEndpointTest, ARequestThatDoesNotEndIsClosed) {
  const auto endpoint = HttpEndpoint::Create(
      {.listen_address = "127.0.0.1:0", .request_time = std::chrono::milliseconds(50)},
      MetricsPage([] { return std::string(kPage); }), [] { return absl::OkStatus(); });
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  Connection connection((*endpoint)->port());
  connection.Send("GET /metrics HTTP/1.1\r\n");
  EXPECT_EQ(connection.ReceiveAll(), "");
}

TEST(HttpEndpointBlockedTest, HealthDoesNotWaitForReadiness) {
  std::promise<void> answer;
  const std::shared_future<void> answered = answer.get_future().share();
  auto endpoint = HttpEndpoint::Create({.listen_address = "127.0.0.1:0"},
                                       MetricsPage([] { return std::string(kPage); }), [&] {
                                         answered.wait();
                                         return absl::OkStatus();
                                       });
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  const int port = (*endpoint)->port();
  std::vector<std::thread> waiting;
  for (int i = 0; i < 20; ++i) {
    waiting.emplace_back(
        [port] { EXPECT_THAT(Get(port, "/readyz"), StartsWith("HTTP/1.1 200 ")); });
  }
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Get(port, "/healthz"), StartsWith("HTTP/1.1 200 "));
  answer.set_value();
  for (std::thread& thread : waiting) thread.join();
}

// An endpoint with one page, whose rendering waits for Open().
class HttpEndpointGateTest : public ::testing::Test {
 protected:
  void Start(int max_connections = HttpEndpointOptions().max_connections) {
    auto endpoint =
        HttpEndpoint::Create({.listen_address = "127.0.0.1:0", .max_connections = max_connections},
                             MetricsPage([this, opened = gate_.get_future().share()] {
                               if (++renderings_ == 1) begun_.set_value();
                               opened.wait();
                               return std::string(kPage);
                             }),
                             [] { return absl::OkStatus(); });
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    endpoint_ = *std::move(endpoint);
  }
  std::unique_ptr<Connection> AskForPage() {
    auto connection = std::make_unique<Connection>(endpoint_->port());
    EXPECT_TRUE(connection->Send("GET /metrics HTTP/1.1\r\n\r\n"));
    return connection;
  }
  // The endpoint has read the request when the connection is reset.
  void ResetAfterRequest() {
    const auto connection = AskForPage();
    WaitUntilSeen();
    connection->Reset();
  }
  void WaitForRendering() { begun_.get_future().wait(); }
  // Returns when the endpoint has seen all that happened before.
  void WaitUntilSeen() {
    EXPECT_THAT(Get(endpoint_->port(), "/healthz"), StartsWith("HTTP/1.1 200 "));
  }
  void Open() { gate_.set_value(); }

  std::promise<void> gate_;
  std::promise<void> begun_;
  std::atomic<int> renderings_ = 0;
  std::unique_ptr<HttpEndpoint> endpoint_;
};

TEST_F(HttpEndpointGateTest, OneRenderingServesAllThatWaitForThePage) {
  Start();
  const auto first = AskForPage();
  WaitForRendering();
  std::vector<std::unique_ptr<Connection>> others;
  for (int i = 0; i < 20; ++i) others.push_back(AskForPage());
  WaitUntilSeen();
  Open();
  EXPECT_THAT(first->ReceiveAll(), EndsWith(kPage));
  for (const auto& other : others) EXPECT_THAT(other->ReceiveAll(), EndsWith(kPage));
  EXPECT_EQ(renderings_, 2);  // the first had begun before the others came
}

TEST_F(HttpEndpointGateTest, NoPageIsRenderedForConnectionsThatWereReset) {
  Start();
  const auto first = AskForPage();
  WaitForRendering();
  for (int i = 0; i < 20; ++i) ResetAfterRequest();
  WaitUntilSeen();
  Open();
  EXPECT_THAT(first->ReceiveAll(), EndsWith(kPage));
  EXPECT_THAT(Get(endpoint_->port(), "/metrics"), EndsWith(kPage));
  EXPECT_EQ(renderings_, 2);
}

TEST_F(HttpEndpointGateTest, ConnectionsThatWereResetLeaveTheirPlaces) {
  Start(/*max_connections=*/4);
  const auto first = AskForPage();
  WaitForRendering();
  for (int i = 0; i < 20; ++i) ResetAfterRequest();
  EXPECT_THAT(Get(endpoint_->port(), "/readyz"), StartsWith("HTTP/1.1 200 "));
  Open();
  EXPECT_THAT(first->ReceiveAll(), EndsWith(kPage));
}

TEST_F(HttpEndpointGateTest, ProbesFindAPlaceWhileAllPlacesWaitForAPage) {
  Start(/*max_connections=*/8);
  std::vector<std::unique_ptr<Connection>> waiting;
  for (int i = 0; i < 20; ++i) waiting.push_back(AskForPage());
  WaitForRendering();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Get(endpoint_->port(), "/readyz"), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(Get(endpoint_->port(), "/healthz"), StartsWith("HTTP/1.1 200 "));
  }
  Open();
  EXPECT_THAT(waiting.back()->ReceiveAll(), EndsWith(kPage));
}

TEST_F(HttpEndpointTest, APageThatIsReadSlowlyArrivesWhole) {
  const std::string page(4 << 20, 'm');
  const auto endpoint =
      HttpEndpoint::Create({.listen_address = "127.0.0.1:0"}, MetricsPage([&] { return page; }),
                           [] { return absl::OkStatus(); });
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  Connection connection((*endpoint)->port());
  connection.Send("GET /metrics HTTP/1.0\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(Get((*endpoint)->port(), "/healthz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(connection.ReceiveAll().size() / (1 << 20), page.size() / (1 << 20));
}

TEST(HttpEndpointAddressTest, TakenPortIsAClearError) {
  const auto page = MetricsPage([] { return std::string(); });
  const auto ready = [] { return absl::OkStatus(); };
  const auto first = HttpEndpoint::Create({.listen_address = "127.0.0.1:0"}, page, ready);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string address = absl::StrCat("127.0.0.1:", (*first)->port());
  const auto second = HttpEndpoint::Create({.listen_address = address}, page, ready);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(address));
  std::cout << second.status() << "\n";
}

TEST(HttpEndpointAddressTest, EveryInterfaceAndIpv6CanBeAskedFor) {
  for (const char* address : {":0", "0.0.0.0:0", "[::1]:0"}) {
    const auto endpoint =
        HttpEndpoint::Create({.listen_address = address}, {}, [] { return absl::OkStatus(); });
    if (!endpoint.ok() && std::string(address) == "[::1]:0") {
      std::cout << "no IPv6 here: " << endpoint.status() << "\n";
      continue;
    }
    ASSERT_TRUE(endpoint.ok()) << address << " " << endpoint.status();
    EXPECT_GT((*endpoint)->port(), 0) << address;
  }
}

}  // namespace
}  // namespace orbserve
