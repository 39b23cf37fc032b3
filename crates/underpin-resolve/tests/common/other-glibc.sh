#!/bin/sh
# Fetches the C library of another Debian release and unpacks it: a real loader with the rules of its version.
# usage: other-glibc.sh SUITE DIRECTORY [PACKAGE...]
#
# The archive is the one that apt is configured with here; only the suite is another. Nothing is installed and apt's
# own state stays as it is. Needs apt-get, dpkg-deb and the archive's keyring.
set -eu
suite=$1
directory=$2
shift 2

archive=$(apt-get update --print-uris | sed -n "s|^'\(.*\)/dists/[a-z]*/InRelease'.*|\1|p" | head -n 1)
[ -n "$archive" ] || { echo "apt is not configured with a Debian archive" >&2; exit 1; }

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/packages"
: >"$state/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $suite main" >"$state/sources.list"
cat >"$state/apt.conf" <<EOF
Dir::Etc::SourceList "$state/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State "$state";
Dir::State::Status "$state/status";
Dir::Cache "$state";
Acquire::Languages "none";
Acquire::Retries "2";
APT::Sandbox::User "root";
EOF
export APT_CONFIG="$state/apt.conf"
apt-get -qq update
cd "$state/packages"
[ $# -gt 0 ] || set -- libc6 libgcc-s1
for package in "$@"; do apt-get -qq download "$package/$suite"; done

rm -rf "$directory.partial"
mkdir -p "$directory.partial"
for package in *.deb; do dpkg-deb --extract "$package" "$directory.partial"; done
rm -rf "$directory"
mv "$directory.partial" "$directory"
