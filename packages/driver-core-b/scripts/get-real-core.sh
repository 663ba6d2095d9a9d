#!/usr/bin/env bash
# Builds the real NRF, PCF and AMF that the tests run the drivers against into a cache folder: about two minutes.
# Usage: get-real-core.sh [folder]. Does nothing when they are there. Needs go 1.26.2 or later; the modules are pinned.
# UDR, UDM, AUSF and SMF are not to be had as modules.
set -euo pipefail
cache=${1:-$HOME/.cache/steeple-test}
folder=$cache/free5gc-functions-1
here=$(cd "$(dirname "$0")" && pwd)

if [ ! -f "$folder/ready" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  for function in nrf pcf amf; do
    (cd "$here/real-core" && GOFLAGS=-mod=readonly GOTOOLCHAIN=local go build -o "$folder/$function" "github.com/free5gc/$function/cmd")
  done
  touch "$folder/ready"
fi
echo "$folder"
