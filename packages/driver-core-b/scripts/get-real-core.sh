#!/usr/bin/env bash
# Builds the real functions that the tests run the drivers against into a cache folder: about three minutes for all.
# Usage: get-real-core.sh [folder]. Builds only what is not there. Needs go 1.26.2 or later; the modules are pinned.
set -euo pipefail
cache=${1:-$HOME/.cache/steeple-test}
folder=$cache/free5gc-functions-2
here=$(cd "$(dirname "$0")" && pwd)

# One more is one more name here and its module in the go.mod of its release. UDR, UDM, AUSF, NSSF and the SMF and CHF of 4.2 are
# not to be had so: the module proxy names their versions and refuses their files (403).
declare -A functions=([real-core]="nrf pcf amf" [real-core-3.4]="smf chf")

mkdir -p "$folder"
for release in "${!functions[@]}"; do
  for function in ${functions[$release]}; do
    [ -f "$folder/$function" ] && continue
    (cd "$here/$release" && GOFLAGS=-mod=readonly GOTOOLCHAIN=local go build -o "$folder/$function.part" "github.com/free5gc/$function/cmd")
    mv "$folder/$function.part" "$folder/$function"
  done
done
touch "$folder/ready"
echo "$folder"
