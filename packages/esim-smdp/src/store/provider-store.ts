import { defineTable, listed, type Reader, type Table } from '@steeple/contracts'
import { codesOfSims } from './code-queries.ts'
import { CODES, type CodeRow } from './rows.ts'

/** An accredited SM-DP+ that delivers profiles of ours. Times in ms since the epoch. */
export interface ProviderRow {
  readonly id: string
  readonly name: string
  /** Of its ES2+, up to but without `/gsma/rsp2/…`; empty: it is ordered from by file alone. */
  readonly url: string
  /** What this operator is called in its calls: functionRequesterIdentifier. */
  readonly requester: string
  /** As the provider calls the profile; empty: it knows by the ICCID. */
  readonly profile_type: string
  /** PEM; empty: the machine's authorities, no client certificate. */
  readonly ca: string
  readonly cert: string
  /** PKCS #8, PEM; AAD `esim_smdp_provider/<id>`. */
  readonly key_sealed: Uint8Array | null
  /** OpenPGP public key, armored, that order files are encrypted to; empty: none. */
  readonly order_key: string
  /** SHA-256 (hex) of the password of its notifications; null: it may send none. */
  readonly notify_hash: string | null
  readonly created_at_ms: number
  readonly changed_at_ms: number
  /** Subject of the client certificate that its notifications may come with, as `subjectOf` writes it; null or empty: none. */
  readonly notify_subject: string | null
}
export const PROVIDERS: Table<ProviderRow> = defineTable(
  'esim_smdp_provider',
  [
    'id',
    'name',
    'url',
    'requester',
    'profile_type',
    'ca',
    'cert',
    'key_sealed',
    'order_key',
    'notify_hash',
    'created_at_ms',
    'changed_at_ms',
    'notify_subject',
  ],
  ['id'],
)

/** The provider whose notifications come with a certificate of that subject (`subjectOf`). Throws `store_corrupt`. */
export async function providerOfSubject(reader: Reader, subject: string): Promise<ProviderRow | undefined> {
  const [found] = await PROVIDERS.select(reader, 'where notify_subject = :subject order by id', { subject })
  return found
}

/** How far the provider was asked for a profile; by file alone: `none`. `sent`: a call went out, and nobody knows whether it arrived. */
export type ProvidedStep = 'none' | 'sent' | 'ordered' | 'confirmed'
/** Whether the provider knows that the code is revoked. `by_hand`: it has no ES2+, so a person tells it. */
type CancelState = 'none' | 'due' | 'done' | 'refused' | 'by_hand'

/** That a code is a provider's, and not of this SM-DP+. */
export interface ProvidedRow {
  /** Of the code, which holds the state. */
  readonly token: string
  /** Of `ProviderRow`. */
  readonly provider: string
  readonly step: ProvidedStep
  /** What phones ask for, as the provider gave it; AAD `esim_smdp_provided/<token>`. */
  readonly confirmation_sealed: Uint8Array | null
  readonly cancel: CancelState
  readonly cancel_failures: number
  readonly cancel_next_at_ms: number
}
export const PROVIDED: Table<ProvidedRow> = defineTable(
  'esim_smdp_provided',
  ['token', 'provider', 'step', 'confirmation_sealed', 'cancel', 'cancel_failures', 'cancel_next_at_ms'],
  ['token'],
)

/** Those of some codes that are of a provider, by token. Throws `store_corrupt`. */
export async function providedOf(
  reader: Reader,
  tokens: readonly string[],
): Promise<ReadonlyMap<string, ProvidedRow>> {
  if (tokens.length === 0) return new Map()
  const { where, params } = listed('token', tokens)
  const rows = await PROVIDED.select(reader, `where ${where}`, params)
  return new Map(rows.map((row) => [row.token, row]))
}

/** A code with the provider whose it is; undefined: it is of this SM-DP+. */
export interface CodeOfSim {
  readonly code: CodeRow
  readonly provided: ProvidedRow | undefined
}

/** The codes of some SIMs, at most a hundred, by SIM. Throws `store_corrupt`. */
export async function codesWithProvider(
  reader: Reader,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, readonly CodeOfSim[]>> {
  const codes = await codesOfSims(reader, hashes)
  const provided = await providedOf(
    reader,
    codes.map(({ token }) => token),
  )
  const both = codes.map((code) => ({ code, provided: provided.get(code.token) }))
  return Map.groupBy(both, ({ code }) => code.hash)
}

/** At most `limit` codes whose end a provider is still to be told, the first due first. */
export async function cancelsDue(
  reader: Reader,
  nowMs: number,
  limit: number,
): Promise<readonly ProvidedRow[]> {
  return await PROVIDED.select(
    reader,
    "where cancel = 'due' and cancel_next_at_ms <= :now order by cancel_next_at_ms, token limit :limit",
    { now: nowMs, limit },
  )
}

/** How many codes of a provider can still be used, or its end is still to be told of. */
export async function openOfProvider(reader: Reader, provider: string): Promise<number> {
  const row = await reader.get<{ readonly codes: number }>(
    `select count(*) as codes from esim_smdp_provided p join esim_smdp_code c on c.token = p.token
     where p.provider = :provider
       and (c.state in ('allocated', 'confirmed', 'released', 'downloaded') or p.cancel = 'due')`,
    { provider },
  )
  return Number(row?.codes ?? 0)
}

/** The newest code of a provider whose profile has that ICCID, by its HMAC, and that is not revoked. */
export async function codeOfProvider(
  reader: Reader,
  provider: string,
  iccidMac: Uint8Array,
): Promise<CodeRow | undefined> {
  const [row] = await CODES.select(
    reader,
    `where iccid_mac = :mac and state <> 'revoked'
       and token in (select token from esim_smdp_provided where provider = :provider)
     order by created_at_ms desc, token limit 1`,
    { mac: iccidMac, provider },
  )
  return row
}
