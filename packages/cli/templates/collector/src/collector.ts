import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import {
  type Clock,
  type Collection,
  type Collector,
  type ImsiHash,
  NOTHING_COLLECTED,
  southboundUnavailable,
} from '@steeple/contracts'
import { type CountedSession, parseUsageFile, type UsageFile } from './usage-file.ts'

/** What the collector reads from. */
export interface FileCollectorOptions {
  readonly source: string
  /** Nothing is collected while it is empty. */
  readonly file: string
  readonly clock: Clock
}

/**
 * Volumes are totals of a counter, so reading them twice counts nothing twice; a collector of totals needs no position.
 *
 * A counter's generation is the run of the core: after a restart, when counters begin at 0 again, it is another one.
 */
export function fileCollector(options: FileCollectorOptions): Collector {
  const { source, file, clock } = options
  return {
    source,
    poll: async (_position, signal) => {
      signal.throwIfAborted()
      return file === ''
        ? NOTHING_COLLECTED
        : collectionOf(parseUsageFile(await textOf(file, signal)), clock.nowMs())
    },
    health: () =>
      file === ''
        ? { status: 'degraded', detail: 'set sample_plugin.usage_file' }
        : { status: 'ok', detail: `reads ${file}` },
  }
}

/** The file lists all sessions that live, so those that are not in it have ended. */
function collectionOf({ boot, sessions }: UsageFile, nowMs: number): Collection {
  const referenceOf = ({ id }: CountedSession): string => `${boot}/${id}`
  return {
    sightings: sessions.map((session) => ({
      imsi: imsiHash(session.imsi),
      apn: session.apn,
      plmn: undefined,
      address: session.address,
      prefix: undefined,
      technology: 'lte',
      cell: undefined,
      state: 'active',
      reference: referenceOf(session),
      startedAtMs: session.startedAtMs,
      seenAtMs: nowMs,
    })),
    isWhole: true,
    volumes: sessions.map((session) => ({
      key: { by: 'session', reference: referenceOf(session) },
      upBytes: session.upBytes,
      downBytes: session.downBytes,
      fromMs: Math.min(session.startedAtMs, nowMs),
      toMs: nowMs,
      count: { counter: session.id, generation: boot },
      isIncomplete: false,
    })),
    position: undefined,
    lost: undefined,
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
