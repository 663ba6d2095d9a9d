import type { ImsiHash, Tx } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { move, type Terms } from '../states/move.ts'
import { AT_ONCE, codesOfSims, heldOfCodes, OPEN_STATES } from '../store/code-queries.ts'
import { type ProvidedRow, providedOf } from '../store/provider-store.ts'
import { CODES, type CodeRow, type HeldRow } from '../store/rows.ts'
import type { NewCode } from './activation.ts'
import { closedConflict, esimCodeConflict } from './conflict.ts'
import { ESIM_CODE } from './restored.ts'

/** The codes that took the place of others, as they are stored. */
export interface Placed {
  readonly rows: readonly CodeRow[]
  /** Tokens of the codes that they have replaced. */
  readonly replaced: readonly string[]
}

/**
 * Stores new codes. A code of the same SIM that nobody has downloaded yet is revoked: one SIM has one code. One whose
 * profile was delivered stands in the way until it is revoked; then the next one is for the same eUICC alone, unless that
 * has told that it deleted the profile. So no two eUICCs ever get the same keys.
 * Throws `esim_code_conflict`.
 */
export async function placeCodes(
  { closed }: Pick<EsimParts, 'closed'>,
  tx: Tx,
  codes: readonly NewCode[],
  terms: Terms,
): Promise<Placed> {
  const rows: CodeRow[] = []
  const replaced: string[] = []
  for (let at = 0; at < codes.length; at += AT_ONCE) {
    const some = codes.slice(at, at + AT_ONCE)
    const before = await codesOfSims(
      tx,
      some.map(({ row }) => row.hash),
    )
    const open = before.filter(({ state }) => OPEN_STATES.includes(state)).map(({ token }) => token)
    refuseClosed(before, await closed.among(ESIM_CODE, open))
    const bySim = Map.groupBy(before, ({ hash }) => hash)
    const held = await heldOfCodes(
      tx,
      before.map(({ token }) => token),
    )
    const heldBy = new Map(held.map((one) => [one.token, one]))
    const provided = await providedOf(
      tx,
      before.map(({ token }) => token),
    )
    for (const other of before) refuseProvided(other, provided.get(other.token), heldBy.get(other.token))
    for (const { row } of some) {
      const others = bySim.get(row.hash) ?? []
      const placed = boundTo(row, others, heldBy)
      for (const other of others) {
        if (!OPEN_STATES.includes(other.state)) continue
        const { row: after } = move(other, { kind: 'revoke' }, terms)
        await CODES.put(tx, { ...after, last_error: 'replaced by another code' })
        replaced.push(other.token)
      }
      await CODES.insert(tx, placed)
      rows.push(placed)
    }
  }
  return { rows, replaced }
}

/** Somebody may have got the profile by it: a second code would give the same keys to another eUICC. */
function refuseClosed(codes: readonly CodeRow[], closed: ReadonlySet<string>): void {
  const found = codes.find(({ token }) => closed.has(token))
  if (found !== undefined) throw closedConflict(found)
}

/** A provider can deliver it, or has: what this SM-DP+ delivered then would be the same keys on another eUICC. */
function refuseProvided(
  { token, hash, state, downloads }: CodeRow,
  provided: ProvidedRow | undefined,
  held: HeldRow | undefined,
): void {
  if (provided === undefined) return
  if (OPEN_STATES.includes(state) || provided.cancel === 'due')
    throw esimCodeConflict(
      `the provider ${provided.provider} delivers SIM ${hash} by code ${token}; revoke that code, and wait until the provider knows`,
    )
  if (downloads > 0 && held?.state !== 'deleted')
    throw esimCodeConflict(
      `the provider ${provided.provider} has delivered SIM ${hash}; for another phone, issue a SIM with replaces`,
    )
}

function boundTo(row: CodeRow, others: readonly CodeRow[], held: ReadonlyMap<string, HeldRow>): CodeRow {
  const order = others.find(({ state }) => state === 'allocated' || state === 'confirmed')
  if (order !== undefined)
    throw esimCodeConflict(
      `the profile of SIM ${row.hash} is ordered (${order.token}) and not released yet; revoke the order first, or wait until the order system releases it`,
    )
  const holder = others.find((other) => other.downloads > 0 && held.get(other.token)?.state !== 'deleted')
  if (holder === undefined) return row
  const place = `the eUICC …${holder.eid_last4 ?? '????'}`
  if (holder.state !== 'revoked' && holder.state !== 'expired' && holder.state !== 'error')
    throw esimCodeConflict(
      `code ${holder.token} has delivered SIM ${row.hash} to ${place}; to repeat that, revoke the code; for another phone, issue a SIM with replaces`,
    )
  if (row.eid_hash !== null && row.eid_hash !== holder.eid_hash)
    throw esimCodeConflict(
      `the profile of SIM ${row.hash} was delivered to ${place} and not deleted there; for another eUICC issue a new SIM with replaces`,
    )
  return { ...row, eid_hash: holder.eid_hash, eid_last4: holder.eid_last4 }
}

/** Of some SIMs, at most a hundred, those that have no code that is open or delivered. */
export async function withoutCode(
  reader: Parameters<typeof codesOfSims>[0],
  hashes: readonly ImsiHash[],
): Promise<ReadonlySet<string>> {
  const taken = new Set(
    (await codesOfSims(reader, hashes))
      .filter(({ state, downloads }) => OPEN_STATES.includes(state) || downloads > 0)
      .map(({ hash }) => hash),
  )
  return new Set(hashes.filter((hash) => !taken.has(hash)))
}
