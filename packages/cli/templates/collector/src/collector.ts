import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Clock, type Collector, type ImsiHash, southboundUnavailable } from '@steeple/contracts'
import { parseUsageFile } from './usage-file.ts'

/** What the collector reads from. */
export interface FileCollectorOptions {
  readonly source: string
  /** Nothing is collected while it is empty. */
  readonly file: string
  readonly clock: Clock
}

/**
 * Samples are totals of a session, so reading them twice counts nothing twice.
 *
 * A session's name holds the run of the core: after a restart, when counters begin at 0 again, it is another session.
 */
export function fileCollector(options: FileCollectorOptions): Collector {
  const { source, file, clock } = options
  return {
    source,
    poll: async (signal) => {
      signal.throwIfAborted()
      if (file === '') return []
      const { boot, sessions } = parseUsageFile(await textOf(file, signal))
      const atMs = clock.nowMs()
      return sessions.map((session) => ({
        imsi: imsiHash(session.imsi),
        apn: session.apn,
        session: `${boot}/${session.id}`,
        upBytes: session.upBytes,
        downBytes: session.downBytes,
        atMs,
        kind: 'total',
      }))
    },
  }
}

async function textOf(file: string, signal: AbortSignal): Promise<string> {
  try {
    return await readFile(file, { encoding: 'utf8', signal })
  } catch (cause) {
    throw southboundUnavailable(`the usage file ${file} cannot be read`, { cause })
  }
}

/** The API's name of a subscriber: 12 hex characters of the SHA-256 of the IMSI's digits. */
function imsiHash(imsi: string): ImsiHash {
  return createHash('sha256').update(imsi).digest('hex').slice(0, 12) as ImsiHash
}
