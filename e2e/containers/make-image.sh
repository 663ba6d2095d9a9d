#!/usr/bin/env bash
# Puts the image of the tests on containers into a cache folder: a Debian root, imported into a store of podman that the
# tests use read-only. node and mongosh are mounted into the containers, not part of it. Beside it lies a layer with what makes the
# root a machine that starts: systemd, nftables, curl.
# Usage: make-image.sh [folder]. Does nothing when it is there. Needs root, podman, mmdebstrap.
set -euo pipefail
cache=${1:-$HOME/.cache/steeple-test}
image=steeple-test:bookworm-1
target=$cache/container-image-bookworm-1

mkdir -p "$cache"
exec 9>"$cache/container-image.lock"
flock 9
make_layer() {
  layer=$target/booting
  [ ! -f "$layer.ready" ] || return 0
  rm -rf "$layer" "$layer.work"
  mkdir -p "$layer" "$layer.work" "$layer.root"
  lower=$(dirname "$(dirname "$(dirname "$(ls -d "$target"/store/overlay/*/diff/usr/bin/dpkg | head -n 1)")")")
  # shellcheck disable=SC2016
  root=$layer.root lower=$lower layer=$layer unshare -m sh -euc '
    mount -t overlay overlay -o "lowerdir=$lower,upperdir=$layer,workdir=$layer.work" "$root"
    mount -t proc proc "$root/proc"
    mount --bind /dev "$root/dev"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    export DEBIAN_FRONTEND=noninteractive
    chroot "$root" apt-get -qq update
    chroot "$root" apt-get -qq -y --no-install-recommends install systemd-sysv dbus nftables curl ca-certificates
    rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/doc "$root"/usr/share/locale' >"$target/booting.log" 2>&1 || {
    tail -n 20 "$target/booting.log" >&2
    exit 1
  }
  rm -rf "$layer.work" "$layer.root"
  touch "$layer.ready"
}
if [ -f "$target/ready" ]; then
  make_layer
  echo "$target"
  exit
fi

work=$(mktemp -d "$cache/debian-root.XXXXXX")
trap 'rm -rf "$work"' EXIT
rm -rf "$target"
# Half of what debootstrap takes, for the same packages. The hook has a root without /bin of its own take the small one of two packages.
mmdebstrap --mode=root --variant=minbase --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
  --dpkgopt=force-unsafe-io --aptopt='Acquire::Languages "none"' \
  bookworm "$work/root" http://deb.debian.org/debian >"$work/log" 2>&1 || {
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
make_layer
echo "$target"
