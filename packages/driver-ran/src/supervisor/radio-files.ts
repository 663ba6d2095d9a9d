import { chmod, lstat, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile, validationFailed } from '@steeple/contracts'
import { codeOf } from '@steeple/http-client'
import { OVERLAY_BYTES, OVERLAY_NAMES } from '../render/overlay-problems.ts'
import type { Overlays } from '../render/radio-input.ts'

/** Makes the directory of the radio's files, for this user alone. Throws `validation_failed` when it is a link. */
export async function openDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const found = await lstat(directory)
  if (!found.isDirectory()) throw validationFailed(`${directory} must be a directory and no link`)
  if ((found.mode & 0o077) !== 0) await chmod(directory, 0o700)
}

/** Writes files, each whole or not at all, for this user alone. One that is there as it should be stays: a radio starts again on a full disk. */
export async function writeFiles(directory: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [name, content] of files) {
    const path = join(directory, name)
    const before = await readFile(path, 'utf8').catch(() => undefined)
    if (before !== content) await replaceFile(path, content)
  }
}

/** The overlay files of a folder that belong to that program; none when no folder is configured. */
export async function readOverlays(folder: string, program: 'srsenb' | 'gnb'): Promise<Overlays> {
  const overlays = new Map<string, string>()
  if (folder === '') return overlays
  for (const name of OVERLAY_NAMES[program]) {
    const content = await readOverlay(join(folder, name))
    if (content !== undefined) overlays.set(name, content)
  }
  return overlays
}

async function readOverlay(path: string): Promise<string | undefined> {
  try {
    const { size } = await lstat(path)
    // Too large: what is read is refused for its size.
    return size > 2 * OVERLAY_BYTES ? ' '.repeat(OVERLAY_BYTES + 1) : await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw validationFailed(`${path} of ran.template_dir cannot be read`, { cause: error })
  }
}
