import { nodeIdentityRef, type Route, rateLimited, route } from '@steeple/contracts'
import { backupName } from '../names.ts'
import type { BackupParts } from '../parts.ts'
import { PASSPHRASE_HEADER, passphraseOf } from '../passphrase.ts'
import { auditBackup, takeBackup } from '../take.ts'

/** Each has a process and a copy of the store for as long as its client takes. */
const MOST_AT_ONCE = 2
/** How long a client waits for others to be done. */
const TURN_WAIT_MS = 20_000
const RETRY_AFTER_S = 60

/** `GET /v1/backup` */
export function backupRoute({ context, count }: BackupParts): Route {
  const place = createPlaces(MOST_AT_ONCE, TURN_WAIT_MS, () =>
    rateLimited(`${MOST_AT_ONCE} backups are under way; try again when one is over`, {
      retryAfterS: RETRY_AFTER_S,
    }),
  )
  async function* bounded(stream: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
    const giveBack = await place(signal)
    try {
      yield* stream
    } finally {
      giveBack()
    }
  }
  return route<unknown, unknown, unknown>({
    method: 'GET',
    path: '/v1/backup',
    role: 'admin',
    summary: 'Take a backup of this node',
    description:
      `Everything of one moment: the store and installed plugins. With the header ${PASSPHRASE_HEADER} (at least 12 ` +
      'characters) the file is encrypted and also holds the keys, so that another machine can become this node. Without ' +
      'it the file holds no key, and only this node can restore it. docs/reference/backup-file.md describes the file, ' +
      'and has a program that reads it without this service.',
    produces: ['application/gzip', 'application/octet-stream'],
    errors: ['validation_failed', 'rate_limited', 'store_unavailable'],
    handle: async (request) => {
      const passphrase = passphraseOf(request.header(PASSPHRASE_HEADER))
      const isEncrypted = passphrase !== undefined
      await auditBackup(context, request.principal, { encrypted: isEncrypted, keys: isEncrypted })
      const name = backupName(context.use(nodeIdentityRef).name, context.clock.nowMs(), isEncrypted)
      return {
        headers: {
          'content-type': isEncrypted ? 'application/octet-stream' : 'application/gzip',
          'content-disposition': `attachment; filename="${name}"`,
          'cache-control': 'no-store',
        },
        stream: counted(bounded(takeBackup(context, passphrase, request.signal), request.signal), count),
      }
    },
  })
}

async function* counted(stream: AsyncIterable<Buffer>, count: BackupParts['count']): AsyncGenerator<Buffer> {
  try {
    yield* stream
    count.taken('answer')
  } catch (error) {
    count.failed('answer')
    throw error
  }
}

/** Takes a place, or waits for one, and gives what gives it back. Throws the signal's reason, or what `refusal` makes. */
type TakePlace = (signal: AbortSignal) => Promise<() => void>

/** So many places at a time. Who finds none waits, at most `waitMs`, in the order of asking. */
export function createPlaces(places: number, waitMs: number, refusal: () => Error): TakePlace {
  let free = places
  const waiting = new Set<() => void>()
  const giveBack = (): void => {
    free += 1
    const [next] = waiting
    next?.()
  }
  const take = (): (() => void) => {
    free -= 1
    return giveBack
  }
  return async (signal) => {
    signal.throwIfAborted()
    if (free > 0) return take()
    const { promise, resolve, reject } = Promise.withResolvers<() => void>()
    // Whoever was called or has left is out of the queue at once.
    const called = (): void => {
      waiting.delete(called)
      resolve(take())
    }
    const leave = (reason: unknown): void => {
      waiting.delete(called)
      reject(reason)
    }
    const aborted = (): void => leave(signal.reason)
    const timer = setTimeout(() => leave(refusal()), waitMs)
    waiting.add(called)
    signal.addEventListener('abort', aborted, { once: true })
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
    }
  }
}
