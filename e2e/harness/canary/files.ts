import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { join, relative } from 'node:path'

/** A place that was looked at, and what was in it. */
export interface Place {
  readonly name: string
  readonly content: Buffer
}

/** Every file under a folder but those of `except`; names are relative to the folder. */
export function filesOf(folder: string, except: readonly string[]): readonly Place[] {
  return pathsUnder(folder)
    .filter((path) => !except.some((name) => relative(folder, path).split('/')[0] === name))
    .flatMap((path) => {
      const content = contentOf(path)
      return content === undefined ? [] : [{ name: relative(folder, path), content }]
    })
}

/** Without what is gone while it is listed. */
function pathsUnder(folder: string): readonly string[] {
  const entries = unlessGone(() => readdirSync(folder, { withFileTypes: true })) ?? []
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return pathsUnder(path)
    return entry.isFile() ? [path] : []
  })
}

function contentOf(path: string): Buffer | undefined {
  return unlessGone(() => readFileSync(path))
}

/** Undefined when it is gone again: what is of the moment alone is not kept. The files of a process that ends answer ESRCH. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ESRCH') return undefined
    throw error
  }
}

const SCRATCH = Buffer.allocUnsafe(2 ** 16)

/**
 * A file of `/proc`, whose length nobody knows before: `readFileSync` takes 64 KB of new memory for each. Undefined when its process is
 * gone.
 */
export function ofProcess(path: string): Buffer | undefined {
  return unlessGone(() => {
    const file = openSync(path, 'r')
    try {
      const pieces: Buffer[] = []
      for (let length = readSync(file, SCRATCH); length > 0; length = readSync(file, SCRATCH))
        pieces.push(Buffer.from(SCRATCH.subarray(0, length)))
      return Buffer.concat(pieces)
    } finally {
      closeSync(file)
    }
  })
}

/**
 * Command line and environment of a process and of its children, as everyone on the machine may read the first; without
 * those of children that end meanwhile.
 */
export function processPlaces(pid: number): {
  readonly commandLines: readonly Place[]
  readonly environments: readonly Place[]
} {
  const pids = [pid, ...childrenOf(pid)]
  const read = (file: string): readonly Place[] =>
    pids.flatMap((one) => {
      const name = `/proc/${one}/${file}`
      const content = contentOf(name)
      return content === undefined ? [] : [{ name, content }]
    })
  return { commandLines: read('cmdline'), environments: read('environ') }
}

/** The processes that a process has started by its first thread, and theirs. */
export function childrenOf(pid: number): readonly number[] {
  const direct = (ofProcess(`/proc/${pid}/task/${pid}/children`) ?? '')
    .toString()
    .trim()
    .split(' ')
    .filter((text) => text !== '')
    .map(Number)
  return direct.flatMap((child) => [child, ...childrenOf(child)])
}
