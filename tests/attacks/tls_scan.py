# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Which versions of TLS and which ciphers a server takes, as `openssl s_client` and nmap see it.

Usage: tls_scan.py --server PROGRAM

Versions before 1.2 are refused. Ciphers have forward secrecy and authenticate what they encrypt; nmap, where it is
installed, gives all of them the mark A. Prints one line of JSON. Exit codes as those of run.py.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys

import run

OLD, NEW = ("-tls1", "-tls1_1"), ("-tls1_2", "-tls1_3")
WEAK = ("aNULL", "eNULL", "EXPORT", "RC4", "3DES", "kRSA", "AES128-SHA256", "ECDHE-ECDSA-AES128-SHA")


def handshake(address, certificate, *options):
    """Protocol and cipher of a handshake of openssl; None where the server refuses it."""
    done = subprocess.run(
        ["openssl", "s_client", "-connect", address, "-alpn", "h2", "-CAfile", certificate, *options],
        input="", capture_output=True, text=True, errors="replace", timeout=20, check=False)
    made = re.search(r"New, (\S+), Cipher is (\S+)", done.stdout)
    if made is None or made.group(2) == "(NONE)":
        return None
    return made.groups(), "Verify return code: 0" in done.stdout, "ALPN protocol: h2" in done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    options = parser.parse_args()
    tls = run.Certificate()
    server = run.Server(options.server, ["--backend", "cpu"], tls=tls)
    address = server.address[len("tls:"):]
    problems, report = [], {}
    # The client would take anything: it is the server that refuses.
    anything = ("-cipher", "ALL:COMPLEMENTOFALL:@SECLEVEL=0")
    for version in OLD:
        if handshake(address, tls.certificate, version, *anything) is not None:
            problems.append(f"{version} is taken")
    for version in NEW:
        made = handshake(address, tls.certificate, version)
        report[version] = made and made[0][1]
        if made is None or not all(made[1:]):
            problems.append(f"{version} is not taken, or without the certificate or HTTP/2: {made}")
    for weak in WEAK:
        if handshake(address, tls.certificate, "-tls1_2", "-cipher", weak + ":@SECLEVEL=0") is not None:
            problems.append(f"{weak} is taken")
    if shutil.which("nmap"):
        port = address.rsplit(":", 1)[1]
        text = subprocess.run(["nmap", "-Pn", "-sT", "--script", "+ssl-enum-ciphers", "-p", port, "127.0.0.1"],
                              capture_output=True, text=True, timeout=60, check=False).stdout
        report["nmap_versions"] = re.findall(r"^\|\s+(TLSv\S+|SSLv\S+):", text, re.M)
        report["nmap_ciphers"] = re.findall(r"^\|\s+(TLS_\S+) .* - (\w)", text, re.M)
        if any(mark != "A" for _, mark in report["nmap_ciphers"]) or not report["nmap_ciphers"]:
            problems.append("nmap gives a cipher less than A")
        if not set(report["nmap_versions"]) <= {"TLSv1.2", "TLSv1.3"}:
            problems.append("nmap finds an old version")
    else:
        print("skipped: nmap is not installed", file=sys.stderr)
    code, _ = server.stop()
    if code != 0:
        problems.append(f"SIGTERM did not end the server with 0 but {code}")
    print(json.dumps({"tls": report, "problems": problems}), flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
