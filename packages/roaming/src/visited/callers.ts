import {
  boxCallsRef,
  coreDriverRef,
  type ImsiHash,
  isRecord,
  isServiceError,
  type OtherBox,
  subscribersRef,
} from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import { type BoxKey, callNames, ownKey } from '../envelope.ts'
import { othersOf, type RoamingParts } from '../parts.ts'
import { BOXES, changeBox, type KeyRow, keyOf, VISITORS } from '../store.ts'
import { CALLS_AT_ONCE } from '../wire.ts'
import { closedBecause } from './leases-route.ts'
import { stayKeeper } from './stays.ts'

/** A phone that nobody takes is asked for again after that. */
const AGAIN_MS = 60_000

/**
 * Looks at the phones of the core: notes which visitors are there, and asks the other boxes for SIMs of phones that it has refused, since
 * it knows nobody of that IMSI. The home gives a lease, and the phone's next attempt succeeds.
 */
export function callers(parts: RoamingParts): (signal: AbortSignal) => Promise<void> {
  const askedAt = new Map<string, number>()
  const note = stayKeeper(parts)
  return async (signal) => {
    const others = await othersOf(parts)
    if (others === undefined || others.size === 0) return
    // A core that does not answer is the business of others.
    const core = parts.context.maybe(coreDriverRef)
    const ues = await core?.ues(signal).catch(() => undefined)
    if (ues === undefined) return
    const hashesOf = (isRegistered: boolean): ReadonlySet<ImsiHash> =>
      new Set(ues.filter((ue) => ue.isRegistered === isRegistered).map(({ imsi }) => imsiHash(imsi)))
    await note(hashesOf(true))
    if (closedBecause(parts) !== undefined) return
    const hashes = await strangersAmong(parts, askedAt, hashesOf(false))
    if (hashes.length === 0) return
    const own = await ownKey(parts)
    for (const box of others.values()) await askOrNot(parts, own, box, hashes, signal)
  }
}

/** Phones of no SIM that this box knows, and that were not asked for lately. */
async function strangersAmong(
  parts: RoamingParts,
  askedAt: Map<string, number>,
  hashes: ReadonlySet<ImsiHash>,
): Promise<readonly string[]> {
  const nowMs = parts.context.clock.monotonicMs()
  for (const [hash, atMs] of askedAt) if (nowMs - atMs >= AGAIN_MS) askedAt.delete(hash)
  const found: string[] = []
  for (const hash of hashes) {
    if (askedAt.has(hash) || (await isKnown(parts, hash))) continue
    askedAt.set(hash, nowMs)
    found.push(hash)
    if (found.length === CALLS_AT_ONCE) break
  }
  return found
}

/** A box that does not answer keeps none of the others from being asked. */
async function askOrNot(
  parts: RoamingParts,
  own: KeyRow,
  box: OtherBox,
  hashes: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  try {
    await askOne(parts, own, box, hashes, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!isServiceError(error)) throw error
    parts.context.log.debug({ err: error, box: box.nodeId }, 'a box was not asked for unknown phones')
  }
}

async function isKnown({ context }: RoamingParts, hash: ImsiHash): Promise<boolean> {
  if ((await VISITORS.find(context.db, { hash })) !== undefined) return true
  return (await context.maybe(subscribersRef)?.find(hash)) !== undefined
}

async function askOne(
  parts: RoamingParts,
  own: KeyRow,
  { nodeId, name }: OtherBox,
  hashes: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { context, node, vault } = parts
  const send = async (names: readonly string[]): Promise<BoxKey | undefined> => {
    const body = { key: { id: own.id, x: own.x }, names }
    const question = { method: 'POST', path: '/v1/roaming/calls', body } as const
    const answer = await context.use(boxCallsRef).call(nodeId, question, signal)
    const { key } = isRecord(answer.body) ? answer.body : {}
    const isKey = isRecord(key) && typeof key.id === 'string' && typeof key.x === 'string'
    return answer.status === 200 && isKey ? { id: String(key.id), x: String(key.x) } : undefined
  }
  const known = await BOXES.find(context.db, { node_id: nodeId })
  const first = keyOf(known) ?? (await send([]))
  if (first === undefined) return
  const ends = { asker: node.nodeId, asked: nodeId }
  const nameWith = (key: BoxKey) => hashes.map(callNames(vault, own, key, ends))
  const now = await send(nameWith(first))
  if (now === undefined) return
  await context.db.write((tx) => changeBox(tx, { node_id: nodeId, name }, { key_id: now.id, key_x: now.x }))
  // It has another key than before.
  if (now.id !== first.id) await send(nameWith(now))
}
