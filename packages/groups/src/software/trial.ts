import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord, jsonIn, replaceFile, syncFolder } from '@steeple/contracts'

/** What `bin/launch` reads and writes. */
const TRIAL = 'trial'
const CURRENT = 'current'
/** How the box was before. */
const BEFORE = 'trial-before.json'
/** The build that the launcher itself is part of. */
const INSTALLED = 'installed'

/**
 * `copy`: the launcher copies the state, then tries `to`. `new`: it tries it. `back`: it was not well, and `from` is tried on what it has written.
 * `aside`, `returning`, `returned`: the copy has taken the place of that. `uncopied`: there was no copy, so nothing was tried.
 */
const PHASES = ['copy', 'new', 'back', 'aside', 'returning', 'returned', 'uncopied'] as const
export interface Trial {
  readonly phase: (typeof PHASES)[number]
  readonly to: string
  readonly from: string
  readonly limitS: number
  /** By the time since the boot of the machine. */
  readonly begunS: number
}

/** What the launcher is told, and tells; undefined while nothing is tried. */
export function readTrial(dir: string): Trial | undefined {
  const [phase, to, from, limit, , begun] = textIn(join(dir, TRIAL))?.trim().split(' ') ?? []
  const known = PHASES.find((one) => one === phase)
  if (known === undefined || to === undefined || from === undefined) return undefined
  return { phase: known, to, from, limitS: Number(limit), begunS: Number(begun) }
}

/** Has the launcher try `to` at the next start. */
export async function writeTrial(
  dir: string,
  { to, from, limitS }: Pick<Trial, 'to' | 'from' | 'limitS'>,
  before: Standing,
): Promise<void> {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  await replaceFile(join(dir, BEFORE), JSON.stringify(before))
  await replaceFile(join(dir, TRIAL), `copy ${to} ${from} ${limitS} - 0 0\n`)
}

/** It stays with what runs. `current`: the folder that is run from now on, when it is another one. */
export async function endTrial(dir: string, current: string | undefined): Promise<void> {
  const link = join(dir, CURRENT)
  if (current === INSTALLED) rmSync(link, { force: true })
  else if (current !== undefined) {
    const draft = join(dir, `.${CURRENT}`)
    rmSync(draft, { force: true })
    symlinkSync(current, draft)
    await rename(draft, link)
  }
  rmSync(join(dir, TRIAL), { force: true })
  rmSync(join(dir, BEFORE), { force: true })
  await syncFolder(dir)
}

/** What of a box says whether it is well. */
export interface Standing {
  /** Plugins that run. */
  readonly plugins: readonly string[]
  /** Required components that are not well, with how they are. */
  readonly ailing: Readonly<Record<string, string>>
  /** Whether its hub answers. */
  readonly hub: boolean
}

/** How it was before the trial; undefined when nobody has written it down. */
export function standingBefore(dir: string): Standing | undefined {
  const value = jsonIn(textIn(join(dir, BEFORE)) ?? '')
  // Written by `writeTrial`.
  return isRecord(value) ? (value as unknown as Standing) : undefined
}

/** What is worse than it was, in words; undefined when nothing is. */
export function worseThan(before: Standing, now: Standing): string | undefined {
  const gone = before.plugins.find((name) => !now.plugins.includes(name))
  if (gone !== undefined) return `the plugin ${gone} does not run`
  const ailing = Object.keys(now.ailing).find((name) => now.ailing[name] !== before.ailing[name])
  if (ailing !== undefined) return `${ailing} is ${now.ailing[ailing]}`
  return before.hub && !now.hub ? 'the root of the mesh does not answer' : undefined
}

function textIn(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
