import {
  BATCH_ID_PATTERN,
  type ImsiHash,
  type JsonSchema,
  notFound,
  objectSchema,
  type Reader,
  recordSchema,
  type SimCard,
  simNotFound,
  type Tx,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'
import { confirmationDigest, drawToken } from '../codes/activation.ts'
import type { EsimParts } from '../parts.ts'
import { move, termsNow } from '../states/move.ts'
import { AT_ONCE, heldOfCodes, OPEN_STATES } from '../store/code-queries.ts'
import { type CodeOfSim, codesWithProvider, PROVIDED, type ProvidedRow } from '../store/provider-store.ts'
import { CODES, type CodeRow } from '../store/rows.ts'
import type { ActivationParts } from './returned-codes.ts'

/** A provider says until when its codes can be used, or nobody does. */
const LIFE_MS = 10 * 365 * 86_400_000

/** A SIM with the digits of its ICCID. */
export interface ProvidedSim {
  readonly card: SimCard
  readonly iccid: string
}

/** What a provider has given for a SIM. */
export type GivenCode = ActivationParts & { readonly confirmationCode: string | undefined }

/** The digits of the ICCID of a SIM; undefined: it has none. Throws `sim_not_found`, `store_corrupt`. */
export async function iccidOf(
  { issuer }: Pick<EsimParts, 'issuer'>,
  imsi: ImsiHash,
): Promise<string | undefined> {
  const credentials = await issuer.credentials(imsi)
  const iccid = Buffer.from(credentials.iccid).toString('latin1')
  credentials.wipe()
  return iccid === '' ? undefined : iccid
}

/** Why a SIM cannot have a code of that provider: another code stands in the way. */
function obstacleOf(
  provider: string,
  codes: readonly CodeOfSim[],
  deleted: ReadonlySet<string>,
): string | undefined {
  for (const { code, provided } of codes) {
    if (provided?.provider === provider) continue
    const isOpen = OPEN_STATES.includes(code.state)
    if (!isOpen && (code.downloads === 0 || deleted.has(code.token))) continue
    const whose = provided === undefined ? 'of this box' : `of the provider ${provided.provider}`
    return isOpen
      ? `the SIM has the code ${code.token} ${whose}; revoke that first`
      : `the code ${code.token} ${whose} has delivered the SIM; issue another SIM with replaces`
  }
  return undefined
}

/** Those of some codes whose profiles were deleted on their eUICCs. */
async function deletedAmong(tx: Reader, codes: readonly CodeOfSim[]): Promise<ReadonlySet<string>> {
  const held = await heldOfCodes(
    tx,
    codes.map(({ code }) => code.token),
  )
  return new Set(held.filter(({ state }) => state === 'deleted').map(({ token }) => token))
}

/** The codes of a SIM as they are now, and what stands in the way of one of that provider. */
export async function standing(
  tx: Reader,
  provider: string,
  imsi: string,
): Promise<{ readonly codes: readonly CodeOfSim[]; readonly obstacle: string | undefined }> {
  const codes = (await codesWithProvider(tx, [imsi])).get(imsi) ?? []
  return { codes, obstacle: obstacleOf(provider, codes, await deletedAmong(tx, codes)) }
}

/** The code that is ordered from that provider and has not come yet, or that can be used; the newest of them. */
export function openCodeOf(
  provider: string,
  codes: readonly CodeOfSim[],
): (CodeOfSim & { readonly provided: ProvidedRow }) | undefined {
  const open = codes
    .filter(
      (one): one is CodeOfSim & { readonly provided: ProvidedRow } => one.provided?.provider === provider,
    )
    .filter(({ code }) => OPEN_STATES.includes(code.state))
  return open.toSorted((a, b) => b.code.created_at_ms - a.code.created_at_ms)[0]
}

/** To be called before a transaction that needs the key of look-ups: where there is none yet, it is drawn in one of its own. */
export async function lookupReady({ lookup }: Pick<EsimParts, 'lookup'>): Promise<void> {
  await lookup.mac('')
}

/** A code that is ordered and has not come back: it waits in the list, so that none is lost. */
export async function putOrdered(
  parts: EsimParts,
  tx: Tx,
  provider: string,
  { card, iccid }: ProvidedSim,
): Promise<string> {
  const row = await freshRow(parts, provider, card, iccid)
  await CODES.insert(tx, row)
  await PROVIDED.insert(tx, freshProvided(row.token, provider))
  return row.token
}

async function freshRow(
  { vault, lookup, context }: EsimParts,
  provider: string,
  card: SimCard,
  iccid: string,
): Promise<CodeRow> {
  const token = drawToken()
  const nowMs = Math.floor(context.clock.nowMs())
  return {
    token,
    hash: card.imsi,
    state: 'allocated',
    matching_mac: await lookup.mac(`${provider}/${token}`),
    matching_sealed: vault.seal(new Uint8Array(), `esim_smdp_code/${token}`),
    confirmation_sealed: null,
    iccid_mac: await lookup.mac(iccid),
    iccid_last4: iccid.slice(-4),
    eid_hash: null,
    eid_last4: null,
    smdp_address: '',
    single_use: 1,
    attempts: 0,
    confirmation_attempts: 0,
    downloads: 0,
    last_error: null,
    batch_id: card.batchId ?? null,
    created_at_ms: nowMs,
    expires_at_ms: nowMs + LIFE_MS,
    changed_at_ms: nowMs,
  }
}

function freshProvided(token: string, provider: string): ProvidedRow {
  return {
    token,
    provider,
    step: 'none',
    confirmation_sealed: null,
    cancel: 'none',
    cancel_failures: 0,
    cancel_next_at_ms: 0,
  }
}

/** What a given code is recognised by. No matching id of ES9+ has a slash: the own SM-DP+ never finds one. */
async function macOf(
  { lookup }: EsimParts,
  provider: string,
  given: GivenCode,
  token: string,
): Promise<Uint8Array> {
  return await lookup.mac(`${provider}/${given.address.toLowerCase()}/${given.matchingId || token}`)
}

/** What became of a given code. */
export type Given = 'imported' | 'replaced' | 'unchanged'

/**
 * Takes a code of a provider for a SIM: the one that waits for it, else a new one. One that was given before and differs is revoked: a
 * provider has one code for a profile. `isReleased`: phones can use it now. Gives the reason when it is refused.
 */
export async function putGiven(
  parts: EsimParts,
  tx: Tx,
  of: {
    readonly provider: string
    readonly sim: ProvidedSim
    readonly given: GivenCode
    readonly isReleased: boolean
  },
): Promise<{ readonly what: Given; readonly token: string } | { readonly problem: string }> {
  const { provider, sim, given, isReleased } = of
  const { codes, obstacle } = await standing(tx, provider, sim.card.imsi)
  if (obstacle !== undefined) return { problem: obstacle }
  const open = openCodeOf(provider, codes)
  const waiting = open?.code.state === 'allocated' ? open : undefined
  const before = waiting?.code ?? (await freshRow(parts, provider, sim.card, sim.iccid))
  const mac = await macOf(parts, provider, given, open?.code.token ?? before.token)
  const [same] = await CODES.select(tx, 'where matching_mac = :mac limit 1', { mac })
  if (same !== undefined) return knownBefore(same, sim.card.imsi)
  const replaced = waiting === undefined ? open : undefined
  if (replaced !== undefined) {
    const { row } = move(replaced.code, { kind: 'revoke' }, termsNow(parts))
    await CODES.put(tx, { ...row, last_error: 'the provider gave another code' })
  }
  const row = withCode(parts, before, given, mac, isReleased)
  await CODES.put(tx, row)
  await PROVIDED.put(tx, {
    ...(waiting?.provided ?? freshProvided(row.token, provider)),
    step: 'confirmed',
    confirmation_sealed: confirmationSealed(parts, row.token, given),
  })
  return { what: replaced === undefined ? 'imported' : 'replaced', token: row.token }
}

/** The code is there already: of the same SIM, or of another one. */
function knownBefore(
  { token, hash, state, changed_at_ms: changedAtMs }: CodeRow,
  imsi: string,
): { readonly what: Given; readonly token: string } | { readonly problem: string } {
  if (hash !== imsi) return { problem: `another SIM has this code already (${token})` }
  if (state !== 'revoked') return { what: 'unchanged', token }
  const day = timestampFromMs(changedAtMs).slice(0, 10)
  return { problem: `this code was revoked here on ${day}; ask the provider for another one` }
}

function confirmationSealed(
  { vault }: EsimParts,
  token: string,
  { confirmationCode }: GivenCode,
): Uint8Array | null {
  if (confirmationCode === undefined) return null
  return vault.seal(Buffer.from(confirmationCode, 'latin1'), `esim_smdp_provided/${token}`)
}

function withCode(
  parts: EsimParts,
  before: CodeRow,
  given: GivenCode,
  mac: Uint8Array,
  isReleased: boolean,
): CodeRow {
  const { address, matchingId, owner, isConfirmed, confirmationCode = '' } = given
  const aad = `esim_smdp_code/${before.token}`
  const text = owner === undefined ? matchingId : `${matchingId}$${owner}`
  const terms = termsNow(parts)
  const confirmed = move(before, { kind: 'confirm' }, terms).row
  return {
    ...(isReleased ? move(confirmed, { kind: 'release' }, terms).row : confirmed),
    matching_mac: mac,
    matching_sealed: parts.vault.seal(Buffer.from(text, 'latin1'), aad),
    // That one is asked for; the digest is looked at by nobody here.
    confirmation_sealed: isConfirmed ? parts.vault.seal(confirmationDigest(confirmationCode), aad) : null,
    smdp_address: address,
    last_error: null,
  }
}

/** Which SIMs a provider is to get. */
export interface OrderBody {
  readonly batch_id?: string
  readonly imsis?: readonly ImsiHash[]
}

const HASH: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{12}$' }

/** Properties of a body that says which. */
export const ORDER_PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  batch_id: { type: 'string', pattern: BATCH_ID_PATTERN, description: 'All of this batch or import.' },
  imsis: { type: 'array', items: HASH, minItems: 1, maxItems: AT_ONCE, description: 'Or these, by hash.' },
}
/** Schema of a body that says nothing else. */
export const ORDER_BODY: JsonSchema = objectSchema(ORDER_PROPERTIES)

/** A SIM that was left out, and why. */
export interface LeftOut {
  readonly imsi_sha256_12: string
  readonly reason: string
}
/** Schema of those. */
export const LEFT_OUT: JsonSchema = {
  type: 'array',
  items: recordSchema({ imsi_sha256_12: { type: 'string' }, reason: { type: 'string' } }),
  description: 'SIMs that cannot be ordered, and why.',
}

/** The SIMs of a body, at most `most` of a batch. Throws `validation_failed`, `not_found`, `sim_not_found`. */
export async function simsOf(
  { issuer }: Pick<EsimParts, 'issuer'>,
  body: OrderBody,
  most: number,
): Promise<readonly SimCard[]> {
  const { batch_id: batch, imsis } = body
  if ((batch === undefined) === (imsis === undefined))
    throw validationFailed('send batch_id or imsis, one of them')
  if (imsis !== undefined) {
    const cards = await issuer.cards([...new Set(imsis)])
    const known = new Set(cards.map(({ imsi }) => imsi))
    const missing = imsis.find((imsi) => !known.has(imsi))
    if (missing !== undefined) throw simNotFound(missing)
    return cards
  }
  const cards: SimCard[] = []
  for (let after = ''; ; ) {
    const found = await issuer.batch(batch ?? '', after, AT_ONCE)
    cards.push(...found)
    const last = found.at(-1)
    if (cards.length > most)
      throw validationFailed(`the batch ${batch} has more than ${most} SIMs; order them by smaller batches`)
    if (found.length < AT_ONCE || last === undefined) break
    after = last.imsi
  }
  if (cards.length === 0) throw notFound(`batch ${batch}; look for it in the list of SIMs`)
  return cards
}

/** Why a SIM cannot go to a provider at all. */
export function unfit({ state, iccidLast4 }: SimCard): string | undefined {
  if (state === 'revoked' || state === 'expired') return `the SIM is ${state}`
  return iccidLast4 === undefined ? 'the SIM has no ICCID; import it with one' : undefined
}
