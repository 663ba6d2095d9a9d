#!/usr/bin/env bash
# Builds the real AMF that the tests of this package run against into a cache folder; about a minute and a half.
# Usage: get-real-core.sh [folder]. Does nothing when it is there. Needs go 1.26.2 or later; its modules are pinned.
set -euo pipefail
cache=${1:-$HOME/.cache/steeple-test}
folder=$cache/free5gc-amf-1.4.5
here=$(cd "$(dirname "$0")" && pwd)

if [ ! -f "$folder/ready" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  (cd "$here/real-core" && GOFLAGS=-mod=readonly GOTOOLCHAIN=local go build -o "$folder/amf" github.com/free5gc/amf/cmd)
  touch "$folder/ready"
fi
echo "$folder"
