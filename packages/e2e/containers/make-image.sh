#!/usr/bin/env bash
# Puts the image of the tests on containers into a cache folder: a Debian root, imported into a store of podman that the
# tests use read-only. node and mongosh are mounted into the containers, not part of it.
# Usage: make-image.sh [folder]. Does nothing when it is there. Needs root, podman, debootstrap.
set -euo pipefail
cache=${1:-$HOME/.cache/steeple-test}
image=steeple-test:bookworm-1
target=$cache/container-image-bookworm-1

mkdir -p "$cache"
exec 9>"$cache/container-image.lock"
flock 9
if [ -f "$target/ready" ]; then echo "$target"; exit; fi

work=$(mktemp -d "$cache/debootstrap.XXXXXX")
trap 'rm -rf "$work"' EXIT
rm -rf "$target"
debootstrap --variant=minbase bookworm "$work/root" >"$work/log" 2>&1 || {
  tail -n 20 "$work/log" >&2
  exit 1
}
# What the containers never look at is three fifths of it.
rm -rf "$work/root"/var/{cache/apt,lib/apt/lists,log}/* "$work/root"/usr/share/{doc,locale,man,info,zoneinfo} "$work/root"/dev/*
tar -C "$work/root" -cf "$work/root.tar" .

# Nothing of the machine's own configuration of containers is read or written.
cat >"$work/containers.conf" <<CONF
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
tmp_dir = "$work/tmp"
CONF
cat >"$work/storage.conf" <<CONF
[storage]
driver = "overlay"
graphroot = "$target/store"
runroot = "$work/run"
CONF
CONTAINERS_CONF=$work/containers.conf CONTAINERS_STORAGE_CONF=$work/storage.conf \
  podman import --quiet "$work/root.tar" "$image" >/dev/null
umount "$target/store/overlay" 2>/dev/null || true
touch "$target/ready"
echo "$target"
