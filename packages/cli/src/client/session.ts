import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { AnswerOf, Success } from '@steeple/client'
import { failure } from '../command-error.ts'
import { replaceSecret } from '../output/write-secret.ts'
import type { Terminal } from '../terminal.ts'
import { identityFolder } from './identity.ts'
import type { Service } from './service.ts'

/** A login that commands go on with. Kept in a file that its owner alone can read. */
interface Session {
  /** Whom it is good for: nobody else gets any of it. */
  readonly origin: string
  readonly name: string
  /** The JWT, and when it ends: RFC 3339. */
  readonly token: string
  readonly expires_at: string
  /** `name=value` of the refresh cookie, good for one exchange. */
  readonly cookie: string
}

const FILE = 'session.json'
const LOCK = 'session.lock'
/** A request takes less; one that is refused because it came late would be a riddle. */
const SPARE_MS = 30_000
const LOCK_LIMIT_MS = 60_000
const LOCK_POLL_MS = 50

/** Keeps what a login has answered. Throws `bad_answer`, `cannot_write`. */
export async function keepSession(
  terminal: Terminal,
  base: URL,
  name: string,
  { data, headers }: Pick<Success<AnswerOf<'POST', '/v1/auth/login'>>, 'data' | 'headers'>,
): Promise<Session> {
  const { token, expires_at } = data
  const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';')
  if (typeof token !== 'string' || typeof expires_at !== 'string' || cookie === '')
    throw failure('bad_answer', "the answer is no session; is this svc's address?")
  const session: Session = { origin: base.origin, name, token, expires_at, cookie }
  const folder = folderOf(terminal)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  await replaceSecret(join(folder, FILE), `${JSON.stringify(session, undefined, 2)}\n`)
  return session
}

/** The session for that address; undefined when nobody has logged in there. */
export function sessionFor(terminal: Terminal, base: URL): Session | undefined {
  const folder = identityFolder(terminal)
  if (folder === undefined) return undefined
  try {
    const session = JSON.parse(readFileSync(join(folder, FILE), 'utf8')) as Session
    return session.origin === base.origin ? session : undefined
  } catch {
    // None, or one that was cut off: whoever needs it logs in again.
    return undefined
  }
}

export function dropSession(terminal: Terminal): void {
  rmSync(join(folderOf(terminal), FILE), { force: true })
}

/**
 * The JWT of the session for that address, exchanged for another one when it is about to end; undefined without a session.
 *
 * A refresh cookie is good once: commands that run at the same time take turns. Throws `session_over`.
 */
export async function sessionToken(
  terminal: Terminal,
  base: URL,
  service: Pick<Service, 'post'>,
): Promise<string | undefined> {
  const session = sessionFor(terminal, base)
  if (session === undefined || isFresh(session)) return session?.token
  return withLock(join(folderOf(terminal), LOCK), async () => {
    // Another command may have been faster.
    const now = sessionFor(terminal, base)
    if (now === undefined || isFresh(now)) return now?.token
    try {
      const answer = await service.post('/v1/auth/refresh', { headers: { cookie: now.cookie } })
      return (await keepSession(terminal, base, now.name, answer)).token
    } catch (error) {
      const { status = 0 } = (error as { readonly cause?: { readonly status?: number } }).cause ?? {}
      if (status === 0) throw error
      if (status !== 401)
        throw failure('refresh_failed', `the session could not be refreshed: HTTP ${status}; try again`)
      dropSession(terminal)
      throw failure('session_over', `the session of ${now.name} is over`, { hint: `svc login ${now.name}` })
    }
  })
}

function isFresh({ expires_at }: Session): boolean {
  return Date.parse(expires_at) - SPARE_MS > Date.now()
}

function folderOf(terminal: Terminal): string {
  const folder = identityFolder(terminal)
  if (folder === undefined) throw failure('no_home', 'HOME is not set: there is no place for a session')
  return folder
}

async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  await takeLock(file)
  try {
    return await work()
  } finally {
    rmSync(file, { force: true })
  }
}

async function takeLock(file: string): Promise<void> {
  for (;;) {
    try {
      await (await open(file, 'wx', 0o600)).close()
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      // Left behind by a command that was killed.
      if (ageMs(file) > LOCK_LIMIT_MS) rmSync(file, { force: true })
      else await delay(LOCK_POLL_MS)
    }
  }
}

function ageMs(file: string): number {
  try {
    return Date.now() - statSync(file).mtimeMs
  } catch {
    return 0
  }
}
