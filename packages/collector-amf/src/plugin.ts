import {
  type Collection,
  type Collector,
  type Context,
  collectorRef,
  countText,
  type ImsiHash,
  type Instance,
  type Plugin,
  type SessionSighting,
  southboundUnavailable,
} from '@steeple/contracts'
import {
  type Free5gcOam,
  free5gcOamRef,
  listAgeMs,
  type Registration,
  type RegistrationList,
} from '@steeple/southbound'
import { imsiHash, safeText } from '@steeple/telecom'

/** What the SMF said of a session: its address, that it has none, or that the SMF does not have the session. */
type Answer = { readonly address: string | undefined } | 'gone'

/** What is known of the sessions of a list. */
interface Asked {
  /** Undefined while the SMF was not asked. */
  of(ref: string): Answer | undefined
  /** Sessions whose turn has not come. */
  readonly waiting: number
  /** Why the SMF cannot be asked; undefined when it can. */
  readonly failure: string | undefined
}

/** Questions at a time. */
const PARALLEL = 8
/** Questions in one go: a fifth of a millisecond of processor time each. */
const MOST = 3_000
/** Sessions that are known and asked for again in one go: an address stays for the life of a session. */
const AGAIN = 200

/** Addresses of sessions. The AMF does not know them, and the SMF tells of one session at a time. */
function addresses() {
  /** By reference; those that were asked for longest ago first. */
  const known = new Map<string, Answer>()

  const askEach = async (
    oam: Free5gcOam,
    queue: string[],
    signal: AbortSignal,
  ): Promise<{ readonly failure: string | undefined; readonly hasLost: boolean }> => {
    let failure: string | undefined
    let hasLost = false
    const work = async (): Promise<void> => {
      for (let ref = queue.shift(); ref !== undefined && failure === undefined; ref = queue.shift()) {
        try {
          const session = await oam.session(ref, signal)
          const before = known.get(ref)
          hasLost ||= session === undefined && before !== undefined && before !== 'gone'
          known.delete(ref)
          known.set(ref, session ?? 'gone')
        } catch (error) {
          signal.throwIfAborted()
          failure ??= safeText(error)
        }
      }
    }
    await Promise.all(Array.from({ length: PARALLEL }, work))
    return { failure, hasLost }
  }

  const isSettled = (ref: string): boolean => {
    const answer = known.get(ref)
    return answer !== undefined && answer !== 'gone' && answer.address !== undefined
  }

  return {
    /** Asks for what is not known of these sessions, and whether some of the others are still there. */
    ask: async (oam: Free5gcOam, refs: readonly string[], signal: AbortSignal): Promise<Asked> => {
      const live = new Set(refs)
      for (const ref of known.keys()) if (!live.has(ref)) known.delete(ref)
      const open = [...live].filter((ref) => !isSettled(ref))
      const queue = open.slice(0, MOST)
      const settled = [...known.keys()].filter(isSettled)
      queue.push(...settled.splice(0, Math.min(AGAIN, MOST - queue.length)))
      let { failure, hasLost } = await askEach(oam, queue, signal)
      // One that has lost a session it had may have restarted, and lost them all.
      if (hasLost && failure === undefined)
        failure = (await askEach(oam, settled.slice(0, MOST), signal)).failure
      return {
        of: (ref) => known.get(ref),
        waiting: [...live].filter((ref) => !known.has(ref)).length,
        failure,
      }
    },
  }
}

/** Registrations taken in one turn of the event loop. */
const TOGETHER = 1_000

/**
 * Sees the sessions of a free5GC core: what the AMF lists, with the addresses that the SMF tells.
 *
 * While the SMF cannot be asked, sessions that are new have no address, and one that only the SMF has ended is not seen to end;
 * those that the AMF does not list any more have ended all the same.
 */
export function amfCollector(context: Context): Collector {
  const known = addresses()
  const mismatches = context.metrics.gauge(
    'svc_collector_amf_mismatches',
    'Sessions that the AMF listed and the SMF did not have, at the last poll.',
  )
  /** By reference, as they were given last. */
  let before: ReadonlyMap<string, SessionSighting> = new Map()
  let state: ReturnType<NonNullable<Collector['health']>> = { status: 'ok', detail: 'not asked yet' }

  const poll = async (signal: AbortSignal): Promise<Collection> => {
    const oam = context.maybe(free5gcOamRef)
    if (oam === undefined)
      throw southboundUnavailable('nobody can ask the AMF: the plugin driver-core-b is not there')
    const list = await oam.registrations(listAgeMs(context.settings), signal)
    const asked = await known.ask(oam, refsOf(list), signal)
    const { sightings, missing } = await sightingsIn(list, asked)
    signal.throwIfAborted()
    mismatches.set(missing)
    state = stateOf(sightings.size, missing, asked)
    const isWhole = asked.failure === undefined
    const ended = isWhole ? [] : [...before.values()].filter(({ reference }) => !sightings.has(reference))
    before = sightings
    return {
      sightings: [...sightings.values(), ...ended.map((one) => ({ ...one, state: 'ended' as const }))],
      isWhole,
      volumes: [],
      position: undefined,
      lost: undefined,
    }
  }
  return {
    source: 'amf',
    poll: async (_position, signal) => {
      signal.throwIfAborted()
      return await poll(signal)
    },
    health: () => state,
  }
}

function refsOf({ registrations }: RegistrationList): readonly string[] {
  // A session that is being established has no reference yet.
  return registrations.flatMap(({ sessions }) => sessions.map(({ ref }) => ref)).filter((ref) => ref !== '')
}

interface Sightings {
  readonly sightings: ReadonlyMap<string, SessionSighting>
  /** Sessions that the SMF does not have: nothing moves through them. */
  readonly missing: number
}

async function sightingsIn({ registrations, askedMs }: RegistrationList, asked: Asked): Promise<Sightings> {
  const sightings = new Map<string, SessionSighting>()
  let missing = 0
  for (const [index, registration] of registrations.entries()) {
    if (index % TOGETHER === TOGETHER - 1) await new Promise(setImmediate)
    const hash = imsiHash(registration.imsi)
    for (const { ref, dnn } of registration.sessions) {
      const answer = asked.of(ref)
      if (answer === 'gone') missing += 1
      else if (ref !== '' && dnn !== '')
        sightings.set(ref, {
          ...sightingOf(registration, hash, askedMs),
          apn: dnn,
          reference: ref,
          address: answer?.address,
        })
    }
  }
  return { sightings, missing }
}

function sightingOf(
  { plmn, isConnected }: Registration,
  imsi: ImsiHash,
  seenAtMs: number,
): Omit<SessionSighting, 'apn' | 'reference' | 'address'> {
  const state = isConnected ? 'active' : 'idle'
  return {
    imsi,
    plmn,
    prefix: undefined,
    technology: 'nr',
    cell: undefined,
    state,
    startedAtMs: undefined,
    seenAtMs,
  }
}

function stateOf(
  sessions: number,
  missing: number,
  { failure, waiting }: Asked,
): ReturnType<NonNullable<Collector['health']>> {
  const words = [
    countText(sessions, 'session'),
    ...(missing === 0 ? [] : [`${missing} that the AMF lists and the SMF does not have`]),
    ...(waiting === 0 ? [] : [`the addresses of ${waiting} not known yet`]),
    ...(failure === undefined ? [] : [`new ones without address: ${failure}; see core_b.smf_oam_url`]),
  ]
  return { status: failure === undefined ? 'ok' : 'degraded', detail: words.join(', ') }
}

/** Sees the sessions of a free5GC core, for whoever polls collectors. */
export const plugin: Plugin = {
  setup: async (context: Context): Promise<Instance> => ({
    services: new Map([[collectorRef(context.plugin.id).id, amfCollector(context)]]),
  }),
}
