#!/usr/bin/env bash
# Builds the real functions that the tests run the drivers against into a cache folder: about two minutes of a processor for all.
# Usage: get-real-core.sh [folder]. Builds only what is not there. Needs go 1.26.2 or later; the modules are pinned.
#
# A release's functions have the libraries of their release where these read what the drivers write (of free5GC, the MongoDB
# driver, YAML). The others are those of the newest one, so that each is compiled once.
set -euo pipefail
cache=${1:-$HOME/.cache/steeple-test}
folder=$cache/free5gc-functions-5
here=$(cd "$(dirname "$0")" && pwd)

# One more is one more name here and its module in the go.mod of its release. UDR, NSSF, newer UDMs, AUSFs and SMFs, and the CHF of
# 4.2 are not to be had so: the module proxy names their versions and refuses their files (403).
#
# UDM and AUSF v1.3.0 are not those of free5GC 4.0, whose tag has the same name: the proxy keeps the tag that stood there in January
# 2021, release 3.0.5. Today's checksum database knows neither; the hashes in go.sum are those of the files that the repositories
# have at that release.
declare -A functions=([real-core]="nrf pcf amf" [real-core-3.4]="smf chf" [real-core-3.0]="udm ausf")

# Release 3.0 has a function's program in the root of its module.
program_of() { [ "$1" = real-core-3.0 ] && echo "github.com/free5gc/$2" || echo "github.com/free5gc/$2/cmd"; }

# Nobody debugs these, nobody waits for them but the tests: what compiles them optimises nothing, keeps its garbage and has one thread
# for each package, since there are packages enough for all processors. None needs C or MessagePack.
export GOGC=off GOMAXPROCS=1 CGO_ENABLED=0
fast=(-p "$(nproc)" -tags=nomsgpack "-gcflags=all=-N -l -dwarf=false" "-ldflags=-s -w")

mkdir -p "$folder"
for release in "${!functions[@]}"; do
  for function in ${functions[$release]}; do
    [ -f "$folder/$function" ] && continue
    (cd "$here/$release" && GOFLAGS=-mod=readonly GOTOOLCHAIN=local go build "${fast[@]}" -o "$folder/$function.part" "$(program_of "$release" "$function")")
    mv "$folder/$function.part" "$folder/$function"
  done
done
touch "$folder/ready"
echo "$folder"
