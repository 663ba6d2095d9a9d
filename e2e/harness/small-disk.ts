import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A filesystem of a few MB, in the mount namespace of this process. */
export interface SmallDisk {
  readonly path: string
  /** Takes all the room that is left. */
  fill(): void
  /** Gives it back. */
  free(): void
  remount(options: string): void
  /** Unmounts it and mounts it again; nothing may be open on it. */
  replug(): void
  /** Unmounts it and removes its folder. */
  remove(): void
}

const MEBIBYTE = 1_048_576

/** A filesystem in memory with `size` MiB. */
export function memoryDisk(size: number): SmallDisk {
  return diskOf((path) => mount('-t', 'tmpfs', '-o', `size=${size}m,mode=0755`, 'tmpfs', path))
}

/** An ext4 filesystem with `size` MiB in a file. Undefined when this machine has no loop device. */
export function blockDisk(size: number): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-image-'))
  const image = join(folder, 'image')
  closeSync(openSync(image, 'w'))
  truncateSync(image, size * MEBIBYTE)
  execFileSync('mkfs.ext4', ['-q', '-F', image])
  const options = ['-t', 'ext4', '-o', 'loop', image]
  if (spawnSync('mount', [...options, '/mnt']).status !== 0) {
    rmSync(folder, { recursive: true })
    return undefined
  }
  execFileSync('umount', ['/mnt'])
  const disk = diskOf((path) => {
    // After an abort the journal is replayed, as after a power cut.
    spawnSync('fsck.ext4', ['-p', image])
    mount(...options, path)
  })
  return {
    ...disk,
    remove: () => {
      disk.remove()
      rmSync(folder, { recursive: true })
    },
  }
}

function diskOf(mountAt: (path: string) => void): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'steeple-disk-'))
  const filler = join(path, 'filler')
  mountAt(path)
  return {
    path,
    fill: () => writeUntilFull(filler),
    free: () => rmSync(filler),
    remount: (options) => mount('-o', `remount,${options}`, path),
    replug: () => {
      execFileSync('umount', [path])
      mountAt(path)
    },
    remove: () => {
      // Lazily: a failed test may have left a file open.
      execFileSync('umount', ['-l', path])
      rmSync(path, { recursive: true })
    },
  }
}

function mount(...args: readonly string[]): void {
  execFileSync('mount', args)
}

/** In ever smaller pieces, so that not a block is left. */
function writeUntilFull(path: string): void {
  const file = openSync(path, 'a')
  try {
    for (let size = MEBIBYTE; size >= 1; size = Math.floor(size / 16)) {
      const piece = Buffer.alloc(size, 1)
      while (hasWritten(file, piece));
    }
  } finally {
    closeSync(file)
  }
}

function hasWritten(file: number, piece: Buffer): boolean {
  try {
    return writeSync(file, piece) === piece.length
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOSPC') return false
    throw error
  }
}
