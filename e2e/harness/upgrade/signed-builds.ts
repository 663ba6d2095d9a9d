import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { signatureText } from '@steeple/contracts'
import { withoutOwnVariables } from '../builds/program.ts'

/** What builds are signed with: see docs/how-to/software.md. */
export interface BuildKey {
  readonly publicKey: string
  sign(text: string): string
}

/** A new key. */
export function buildKey(): BuildKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return {
    publicKey: `ed25519:${publicKey.export({ format: 'jwk' }).x}`,
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString('base64url'),
  }
}

const RECORD = 'lib/node_modules/@steeple/cli/build.json'

/** What of a build is another one's. */
export interface Change {
  /** Minutes after the build that it is made of. */
  readonly minutes: number
  /** Files as they are in it; a `bin/svc` may be anything that runs. */
  readonly files?: Readonly<Record<string, string>>
  /** What is not in it. */
  readonly without?: readonly string[]
}

/** Makes a signed build of another one, whose large files it shares; gives its id. */
export function signedCopy(from: string, to: string, key: BuildKey, change: Change): string {
  mkdirSync(join(to, '..'), { recursive: true })
  spawnSync('cp', ['-al', from, to], { stdio: 'inherit' })
  const record = JSON.parse(readFileSync(join(from, RECORD), 'utf8')) as { readonly date: string }
  const date = new Date(Date.parse(record.date) + change.minutes * 60_000).toISOString()
  const files = { ...change.files, [RECORD]: JSON.stringify({ ...record, date }) }
  for (const [path, text] of Object.entries(files)) {
    // It is the same file in the other one.
    rmSync(join(to, path), { force: true })
    writeFileSync(join(to, path), text)
    if (path.startsWith('bin/')) chmodSync(join(to, path), 0o755)
  }
  for (const path of change.without ?? []) rmSync(join(to, path), { recursive: true })
  const text = signatureText('steeple build 1', hashesIn(to), key)
  writeFileSync(join(to, 'signature.json'), text)
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

function hashesIn(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
  return new Map(
    paths.map((path) => [
      relative(folder, path),
      createHash('sha256').update(readFileSync(path)).digest('hex'),
    ]),
  )
}

/** What starts a program again when it fails, as systemd does with `Restart=on-failure`. */
export interface Supervised {
  /** How often it was started. */
  starts(): number
  output(): string
  /** SIGKILL of the process that runs now. */
  kill(): void
  /** Ends it for good. */
  stop(): Promise<void>
}

/** Runs a program until it is stopped, or ends with 0. */
export function supervise(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Supervised {
  let child: ChildProcess | undefined
  let output = ''
  let starts = 0
  let isStopped = false
  const ended = (async () => {
    while (!isStopped) {
      starts += 1
      const one = spawn(file, args, {
        env: { ...withoutOwnVariables(), ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child = one
      const take = (piece: Buffer): void => {
        output = (output + piece.toString('utf8')).slice(-4_000_000)
      }
      one.stdout.on('data', take)
      one.stderr.on('data', take)
      const code = await new Promise<number | null>((resolve) => one.on('exit', resolve))
      if (code === 0) return
      await delay(100)
    }
  })()
  return {
    starts: () => starts,
    output: () => output,
    kill: () => void child?.kill('SIGKILL'),
    stop: async () => {
      isStopped = true
      child?.kill('SIGTERM')
      await ended
    },
  }
}
