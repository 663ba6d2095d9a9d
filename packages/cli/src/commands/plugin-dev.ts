import { spawn } from 'node:child_process'
import { watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { ItemOf } from '@steeple/client'
import { connect } from '../client/service.ts'
import { CommandError, failure } from '../command-error.ts'
import type { Terminal } from '../terminal.ts'
import { askForChange, installAndLoad, type LoadOptions } from './plugin-change.ts'

/** An editor writes several files, or one in several steps: what comes within this time is one change. */
const SETTLE_MS = 100
/** What a build writes (tsup a copy of its configuration, tsc what it remembers), and what no build reads. */
const UNWATCHED = /^(dist|node_modules|coverage)(\/|$)|(^|\/)\.|\.bundled_[^/]*$|\.tsbuildinfo$/
/** The versions that this command makes: above the package's own, below the next one. */
const DEV = /-(.+\.)?dev\.\d+$/

/** A plugin package that is worked on. */
interface Worked {
  readonly id: string
  readonly version: string
  readonly canBuild: boolean
}

/**
 * Builds the package in a folder, loads it under a version of its own, and does so again whenever a file changes, until
 * SIGINT or SIGTERM. Then what ran before runs again and nothing of it is left in the service.
 */
export async function developPlugin(terminal: Terminal, path: string, options: LoadOptions): Promise<void> {
  const dir = resolve(terminal.cwd, path)
  const { id } = await workedOn(dir)
  await removeDev(terminal, id, options)
  const before = await recordOf(terminal, id, options)
  const ended = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort())
  const changes = changesIn(dir, ended.signal)
  try {
    for (let count = 1; !ended.signal.aborted; count += 1) {
      await oneRound(terminal, dir, count, options, ended.signal).catch((error: unknown) => {
        if (!(error instanceof CommandError)) throw error
        terminal.err(`${error.code}: ${error.message}${error.hint === undefined ? '' : `\n${error.hint}`}\n`)
      })
      await changes.next()
    }
  } finally {
    ended.abort()
    await removeDev(terminal, id, options)
    if (before !== undefined && before.state !== 'running')
      await askForChange(terminal, id, 'unload', options).catch(() => undefined)
  }
}

/** Builds and loads. The copy before runs on when either fails. */
async function oneRound(
  terminal: Terminal,
  dir: string,
  count: number,
  options: LoadOptions,
  signal: AbortSignal,
): Promise<void> {
  const { id, version, canBuild } = await workedOn(dir)
  if (canBuild && !(await build(terminal, dir)))
    throw failure('build_failed', 'what ran before runs on; waiting for a change')
  if (signal.aborted) return
  // Whoever works on it here has no need to sign each edit.
  const own = { ...options, allowUnsigned: true }
  const record = await installAndLoad(terminal, dir, own, devVersion(version, count))
  await removeDev(terminal, id, options, String(record.version))
  if (options.json === true) terminal.out(`${JSON.stringify(record)}\n`)
  else
    terminal.out(
      `${id} ${String(record.version)} ${String(record.state)}; waiting for a change (Ctrl-C ends)\n`,
    )
}

async function workedOn(dir: string): Promise<Worked> {
  const file = join(dir, 'package.json')
  try {
    // What is wrong in it in particular is said when it is installed.
    const { version, steeple, scripts } = JSON.parse(await readFile(file, 'utf8')) as {
      readonly version: string
      readonly steeple: { readonly id: string }
      readonly scripts?: { readonly build?: string }
    }
    return { id: steeple.id, version, canBuild: scripts?.build !== undefined }
  } catch (cause) {
    throw failure('no_plugin', `${file} is no manifest of a plugin; svc plugin new writes one`, { cause })
  }
}

/** The package's own script `build`, whose output is shown when it fails. */
async function build(terminal: Terminal, dir: string): Promise<boolean> {
  const child = spawn(process.execPath, ['--run', 'build'], { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((done) => child.on('close', done).on('error', () => done(1)))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (code !== 0) terminal.err(`${out}${err}`)
  return code === 0
}

function devVersion(version: string, count: number): string {
  const [core = '', ...more] = version.split('+', 1)[0]?.split('-') ?? []
  if (more.length > 0) return `${core}-${more.join('-')}.dev.${count}`
  const [major = '0', minor = '0', patch = '0'] = core.split('.')
  return `${major}.${minor}.${Number(patch) + 1}-dev.${count}`
}

/** Uninstalls what this command has made, now or when it was killed; `but` stays. */
async function removeDev(terminal: Terminal, id: string, options: LoadOptions, but?: string): Promise<void> {
  const { versions = [] } = (await recordOf(terminal, id, options)) ?? {}
  for (const version of versions.filter((one) => DEV.test(one) && one !== but))
    await askForChange(terminal, id, 'uninstall', options, { version })
}

async function recordOf(
  terminal: Terminal,
  id: string,
  options: LoadOptions,
): Promise<ItemOf<'/v1/plugins'> | undefined> {
  const { rows } = await connect(terminal, options).list('/v1/plugins', 'plugins', Number.MAX_SAFE_INTEGER)
  return rows.find(({ name }) => name === id)
}

/** Each `next` resolves once something has changed since the one before, or at the end. */
function changesIn(dir: string, signal: AbortSignal): { next(): Promise<void> } {
  let changed = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => changed.resolve())
  const watcher = watch(dir, { recursive: true, signal })
  watcher.on('change', (_, name) => {
    if (!UNWATCHED.test(String(name))) changed.resolve()
  })
  watcher.on('error', (error) => changed.reject(error))
  return {
    next: async () => {
      await changed.promise
      if (!signal.aborted) await delay(SETTLE_MS)
      if (!signal.aborted) changed = Promise.withResolvers()
    },
  }
}
