#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs Debian packages in a fresh root of their distribution, as an administrator would: start, extract, upgrade,
# remove, purge, and nothing is left. With systemd-nspawn the root is booted, and the unit runs under its systemd, with
# all that hardens it; --chroot does without.
#
#   tests/install/package_test.sh [--suite bookworm|noble] [--mirror URL] [--upgrade FOLDER] [--chroot] FOLDER [IMAGE]
#
# FOLDER has the packages, --upgrade's a later revision of them. IMAGE is a photograph. Needs root and mmdebstrap.

set -euo pipefail

suite=bookworm
mirror=
upgrade=
boot=true
while (($# > 0)); do
  case $1 in
    --suite) suite=$2; shift 2 ;;
    --mirror) mirror=$2; shift 2 ;;
    --upgrade) upgrade=$(realpath -- "$2"); shift 2 ;;
    --chroot) boot=false; shift ;;
    -*) echo "package_test: unknown option $1" >&2; exit 2 ;;
    *) break ;;
  esac
done
(($# == 1 || $# == 2)) || { echo "package_test: name the folder of the packages" >&2; exit 2; }
packages=$(realpath -- "$1")
image=${2:+$(realpath -- "$2")}

case $suite in
  bookworm) components="main" ;;
  noble) components="main,universe" ;;
  *) echo "package_test: unknown suite $suite; allowed: bookworm noble" >&2; exit 2 ;;
esac

root=$(mktemp -d /var/tmp/orbserve-package-test.XXXXXX)
nspawn=  # process of systemd-nspawn
leader=  # its first process, the machine's systemd
say() { printf '\n== %s\n' "$*"; }
inside() { # a command in the root, or in the machine that it has booted
  if [[ -n $leader ]]; then
    nsenter --target "$leader" --all -- "$@"
  else
    chroot "$root" "$@"
  fi
}
finish() {
  [[ -z $leader ]] || kill -s RTMIN+4 "$leader" || true  # power off
  [[ -z $nspawn ]] || timeout 30 tail --pid="$nspawn" -f /dev/null || kill -KILL "$nspawn" || true
  umount -q "$root/proc" 2>/dev/null || true
  rm -rf "$root"
}
trap finish EXIT
fail() {
  echo "package_test: $*" >&2
  exit 1
}
files() { # of the root, without those that come and go
  local skip=() folder
  for folder in srv proc sys dev run tmp var/cache var/log var/tmp var/lib/apt var/lib/dpkg var/lib/systemd; do
    skip+=(-path "$root/$folder" -prune -o)
  done
  find "$root" "${skip[@]}" -print | sort | grep -vE '/etc/(.*-|\.pwd\.lock|machine-id|ld\.so\.cache)$'
}

say "A fresh $suite"
# All that the packages need, so that what they leave behind can be told from the rest.
depends=$(for deb in "$packages"/*.deb; do dpkg-deb -f "$deb" Depends; done | tr ',' '\n' |
  sed -E 's/\(.*\)//; s/\|.*//; s/ //g' | sort -u | grep -vE '^(orbserve|liborbserve|$)' | paste -sd,)
mmdebstrap --quiet --variant=apt --components="$components" --include="$depends,systemd,systemd-sysv,dbus,init-system-helpers,udev,man-db,bash-completion" "$suite" "$root" ${mirror:+"$mirror"}
mkdir -p "$root/srv/first" "$root/srv/second"
cp "$packages"/*.deb "$root/srv/first/"
[[ -z $upgrade ]] || cp "$upgrade"/*.deb "$root/srv/second/"
[[ -z $image ]] || cp "$image" "$root/srv/image"

if $boot; then
  say "Boot"
  # It has a loopback of its own, so that ports are free.
  systemd-nspawn --quiet --boot --register=no --keep-unit --private-network --directory="$root" --link-journal=no \
    >"$root/srv/boot.log" 2>&1 &
  nspawn=$!
  for ((i = 0; ; ++i)); do
    leader=$(pgrep -P "$nspawn" -x systemd || true)
    # Some units of a machine in a machine fail.
    [[ -z $leader ]] || case $(inside systemctl is-system-running 2>/dev/null || true) in running | degraded) break ;; esac
    ((i < 90)) || fail "the machine does not boot: $(tail -5 "$root/srv/boot.log")"
    kill -0 "$nspawn" 2>/dev/null || fail "systemd-nspawn ended; --chroot does without it: $(tail -5 "$root/srv/boot.log")"
    sleep 1
  done
else
  mount -t proc proc "$root/proc"
fi

files >"$root/srv/before"
cp "$root/etc/passwd" "$root/srv/passwd"

say "Install"
inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends /srv/first/*.deb' >/dev/null
inside getent passwd orbserve
inside ls -ld /etc/orbserve /etc/orbserve/secrets

serve() { # until it answers
  if ! $boot; then
    inside setpriv --reuid=orbserve --regid=orbserve --init-groups \
      orbserve-server --config /etc/orbserve/server.textproto >"$root/srv/server.log" 2>&1 &
    server=$!
  fi
  for ((i = 0; ; ++i)); do
    ! inside orbserve health >/dev/null 2>&1 || return 0
    ((i < 100)) || fail "the server does not serve: $(inside journalctl -u orbserve-server -n 20 2>/dev/null || cat "$root/srv/server.log")"
    sleep 0.2
  done
}
stop() {
  $boot || { kill -TERM "$(pgrep -P "$server" orbserve-server || echo "$server")" && wait "$server"; }
}

say "Start"
serve
inside orbserve info --server 127.0.0.1:50051 | sed -n 1,3p
if $boot; then
  inside systemctl show orbserve-server -p ActiveState,Type,WatchdogUSec,User,StatusText,MainPID
  [[ $(inside systemctl is-enabled orbserve-server) == enabled ]] || fail "the unit is not enabled"
  say "Unit"
  inside systemd-analyze verify orbserve-server.service
  inside systemd-analyze security --no-pager orbserve-server.service | tail -1
fi

if [[ -n $image ]]; then
  say "Extract"
  inside orbserve extract --quiet --out /srv/served --server 127.0.0.1:50051 /srv/image
  inside orbserve extract --quiet --out /srv/embedded /srv/image
  cmp "$root"/srv/served/*.npz "$root"/srv/embedded/*.npz || fail "server and embedded engine differ"
  ls -l "$root"/srv/served
fi

if $boot; then
  say "Tokens that only root may read"
  inside sh -c 'umask 077; echo secret >/root/token
    echo "robot sha256:$(printf secret | sha256sum | cut -d" " -f1)" >/etc/orbserve/secrets/tokens'
  inside mkdir -p /run/systemd/system/orbserve-server.service.d
  inside sh -c 'printf "[Service]\nExecStart=\nExecStart=/usr/bin/orbserve-server --token-file \${CREDENTIALS_DIRECTORY}/secrets_tokens\n" \
    > /run/systemd/system/orbserve-server.service.d/tokens.conf'
  inside systemctl daemon-reload
  inside systemctl restart orbserve-server
  serve
  ! inside orbserve info --server 127.0.0.1:50051 >/dev/null 2>&1 || fail "the server asks for no token"
  inside orbserve info --server 127.0.0.1:50051 --token-file /root/token | sed -n 1p
  inside rm -r /run/systemd/system/orbserve-server.service.d /etc/orbserve/secrets/tokens /root/token
  inside systemctl daemon-reload
  inside systemctl restart orbserve-server
  serve
fi

say "Manual and completion"
for page in man8/orbserve-server.8 man1/orbserve.1 man1/orbserve-extract.1; do
  inside test -s "/usr/share/man/$page.gz" || inside test -e /etc/dpkg/dpkg.cfg.d/excludes || fail "$page is missing"
done
inside bash -c '. /usr/share/bash-completion/completions/orbserve; COMP_WORDS=(orbserve ex); COMP_CWORD=1; compopt() { :; }
  _orbserve; [[ ${COMPREPLY[*]} == extract ]]' || fail "bash does not complete 'orbserve ex'"

if $boot; then
  say "Killed, it starts again; silent, the watchdog restarts it"
  before=$(inside systemctl show orbserve-server -p MainPID --value)
  inside systemctl kill -s KILL orbserve-server
  sleep 2
  serve
  after=$(inside systemctl show orbserve-server -p MainPID --value)
  [[ $after != "$before" ]] || fail "it was not killed"
  inside mkdir -p /run/systemd/system/orbserve-server.service.d
  inside sh -c 'printf "[Service]\nWatchdogSec=4s\n" > /run/systemd/system/orbserve-server.service.d/watchdog.conf'
  inside systemctl daemon-reload
  inside systemctl restart orbserve-server
  serve
  sleep 8
  [[ $(inside systemctl show orbserve-server -p NRestarts --value) == 0 ]] || fail "the watchdog ended a server that is alive"
  inside systemctl kill -s STOP orbserve-server
  sleep 8
  serve
  [[ $(inside systemctl show orbserve-server -p NRestarts --value) -ge 1 ]] || fail "the watchdog did not restart it"
  inside rm -r /run/systemd/system/orbserve-server.service.d
  inside systemctl daemon-reload
fi

if [[ -n $upgrade ]]; then
  say "Upgrade, with a configuration that was changed"
  inside sed -i 's/max_batch: 16/max_batch: 8/' /etc/orbserve/server.textproto
  $boot || stop
  inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends /srv/second/*.deb' >/dev/null
  inside grep -q 'max_batch: 8' /etc/orbserve/server.textproto || fail "the changed configuration is gone"
  inside dpkg-query -W -f '${Package} ${Version}\n' orbserve-server orbserve
  serve
fi

say "Remove"
stop
inside sh -c 'apt-get remove -qq orbserve-server orbserve liborbserve-client-dev' >/dev/null
inside test -e /etc/orbserve/server.textproto || fail "the configuration went at removal"
! inside pgrep -x orbserve-server >/dev/null || fail "a removed server runs"

say "Purge"
inside sh -c 'dpkg --purge orbserve-server $(dpkg-query -W -f "\${Package}\n" "*orbserve*-dbgsym" 2>/dev/null)' >/dev/null
if ! diff "$root/srv/passwd" "$root/etc/passwd"; then fail "the user is left"; fi
left=$(comm -13 "$root/srv/before" <(files))
[[ -z $left ]] || fail "left behind: $left"
echo "nothing is left"
