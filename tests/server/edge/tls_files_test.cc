// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/tls_files.h"

#include <ctime>
#include <string>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"
#include "tests/support/certificates.h"

namespace orbserve {
namespace {

using ::orbserve::testing::CertificateAndKey;
using ::orbserve::testing::MakeCertificate;
using ::orbserve::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kBroken[] = "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n";

class TlsFilesTest : public ::testing::Test {
 protected:
  absl::StatusOr<TlsFiles> Read(const std::string& certificate, const std::string& key,
                                const std::string& client_ca = "") {
    TlsPaths paths;
    paths.cert_file = folder_.Write("cert.pem", certificate);
    paths.key_file = folder_.Write("key.pem", key);
    if (!client_ca.empty()) paths.client_ca_file = folder_.Write("ca.pem", client_ca);
    return ReadTlsFiles(paths);
  }
  void ExpectRefused(const absl::StatusOr<TlsFiles>& files, const std::string& field,
                     const std::string& file, const std::string& why) {
    ASSERT_FALSE(files.ok());
    EXPECT_EQ(ReasonOf(files.status()), ErrorReason::kBadOptions);
    const std::string message(files.status().message());
    EXPECT_THAT(message, StartsWith(absl::StrCat(field, " ", folder_ / file, ": ")));
    EXPECT_THAT(message, HasSubstr(why));
  }

  const TemporaryFolder folder_;
  const CertificateAndKey own_ = MakeCertificate();
  const CertificateAndKey other_ = MakeCertificate();
};

TEST_F(TlsFilesTest, WithoutFilesThereIsNothing) {
  const auto files = ReadTlsFiles({});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->certificate_chain + files->private_key + files->client_ca, "");
}

TEST_F(TlsFilesTest, ChainsKeysAndAuthoritiesAreReadAsTheyAre) {
  const std::string chain = own_.certificate + other_.certificate;
  const std::string authorities = other_.certificate + own_.certificate;
  const auto files = Read(chain, own_.key, authorities);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->certificate_chain, chain);
  EXPECT_EQ(files->private_key, own_.key);
  EXPECT_EQ(files->client_ca, authorities);
}

TEST_F(TlsFilesTest, TheFirstCertificateOfTheChainToExpireCounts) {
  const CertificateAndKey early = MakeCertificate({.end_s = 5000});
  for (const std::string& chain :
       {own_.certificate + early.certificate, early.certificate + own_.certificate}) {
    const auto files =
        Read(chain, chain == own_.certificate + early.certificate ? own_.key : early.key);
    ASSERT_TRUE(files.ok()) << files.status();
    EXPECT_NEAR(static_cast<double>(files->expiry_unix_s - std::time(nullptr)), 5000, 60);
  }
}

TEST_F(TlsFilesTest, OneFileMayHoldBoth) {
  EXPECT_TRUE(Read(own_.key + own_.certificate, own_.certificate + own_.key).ok());
}

TEST_F(TlsFilesTest, AKeyOfAnotherCertificateIsRefused) {
  ExpectRefused(Read(own_.certificate, other_.key), "tls.key_file", "key.pem",
                absl::StrCat("is not the private key of the certificate in tls.cert_file ",
                             folder_ / "cert.pem"));
  // The first of a chain is the server's own.
  ExpectRefused(Read(other_.certificate + own_.certificate, own_.key), "tls.key_file", "key.pem",
                "is not the private key of the certificate");
}

TEST_F(TlsFilesTest, KeysThatCannotBeReadAreRefused) {
  ExpectRefused(Read(own_.certificate, MakeCertificate({.pass_phrase = "secret"}).key),
                "tls.key_file", "key.pem",
                "holds no private key that can be read without a pass phrase");
  ExpectRefused(Read(own_.certificate, own_.key.substr(0, 80)), "tls.key_file", "key.pem",
                "holds no private key that can be read without a pass phrase");
  ExpectRefused(Read(own_.certificate, own_.certificate), "tls.key_file", "key.pem",
                "is not a PEM file with PRIVATE KEY");
}

TEST_F(TlsFilesTest, CertificatesThatCannotBeReadAreRefused) {
  ExpectRefused(Read(kBroken, own_.key), "tls.cert_file", "cert.pem",
                "holds a certificate that cannot be read");
  ExpectRefused(Read(own_.certificate + kBroken, own_.key), "tls.cert_file", "cert.pem",
                "holds a certificate that cannot be read");
  ExpectRefused(Read("-----BEGIN CERTIFICATE-----\n", own_.key), "tls.cert_file", "cert.pem",
                "holds a certificate that cannot be read");
  ExpectRefused(Read(own_.key, own_.key), "tls.cert_file", "cert.pem",
                "is not a PEM file with BEGIN CERTIFICATE");
  ExpectRefused(Read("", own_.key), "tls.cert_file", "cert.pem", "is not a PEM file");
}

TEST_F(TlsFilesTest, AuthoritiesThatCannotBeReadAreRefused) {
  ExpectRefused(Read(own_.certificate, own_.key, own_.certificate + kBroken), "tls.client_ca_file",
                "ca.pem", "holds a certificate that cannot be read");
  ExpectRefused(Read(own_.certificate, own_.key, "nothing"), "tls.client_ca_file", "ca.pem",
                "is not a PEM file with BEGIN CERTIFICATE");
}

TEST_F(TlsFilesTest, FilesThatAreNotThereAreNamed) {
  TlsPaths paths;
  paths.cert_file = folder_ / "none.pem";
  paths.key_file = folder_ / "none.pem";
  ExpectRefused(ReadTlsFiles(paths), "tls.cert_file", "none.pem", "cannot be read: No such file");
}

}  // namespace
}  // namespace orbserve
