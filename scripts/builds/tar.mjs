// GNU tar, so that the same files give the same octets.
import { spawnSync } from 'node:child_process'

/**
 * Writes an archive of `parts` of a folder: sorted by name, everything of one owner and one time (`epoch`, seconds) and, with
 * a `level`, by gzip without a name or time of its own. `owner` is a number, 0 when absent.
 */
export function packTar({ folder, parts, file, epoch, level, owner = 0 }) {
  const flags = [
    '--sort=name',
    '--format=gnu',
    '--numeric-owner',
    `--owner=${owner}`,
    `--group=${owner}`,
    `--mtime=@${epoch}`,
  ]
  if (level !== undefined) flags.push(`--use-compress-program=gzip -n -${level}`)
  const { status, error } = spawnSync('tar', [...flags, '-cf', file, '-C', folder, ...parts], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (error !== undefined || status !== 0)
    throw new Error(`tar could not write ${file}: ${error?.message ?? status}`)
}
