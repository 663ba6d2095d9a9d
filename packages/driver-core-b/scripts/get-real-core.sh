#!/usr/bin/env bash
# Builds the real functions that the tests run the drivers against into a cache folder: about two minutes for all.
# Usage: get-real-core.sh [folder]. Builds only what is not there. Needs go 1.26.2 or later; the modules are pinned.
set -euo pipefail
cache=${1:-$HOME/.cache/steeple-test}
folder=$cache/free5gc-functions-1
here=$(cd "$(dirname "$0")" && pwd)

# One more is one more name here and its module in real-core/go.mod. UDR, UDM, AUSF, SMF and CHF are not to be had so:
# the module proxy names their versions and refuses their files (403).
functions=(nrf pcf amf)

mkdir -p "$folder"
for function in "${functions[@]}"; do
  [ -f "$folder/$function" ] && continue
  (cd "$here/real-core" && GOFLAGS=-mod=readonly GOTOOLCHAIN=local go build -o "$folder/$function.part" "github.com/free5gc/$function/cmd")
  mv "$folder/$function.part" "$folder/$function"
done
touch "$folder/ready"
echo "$folder"
