import type { Vault } from '@steeple/contracts'
import { codeOf, requestOnce } from '@steeple/http-client'
import { HEADERS, memberOf, objectIn } from '../rsp/refusal.ts'
import type { ProviderRow } from '../store/provider-store.ts'

/** The functions that this operator calls at a provider. SGP.22 §5.3. */
export type ProviderFunction = 'downloadOrder' | 'confirmOrder' | 'cancelOrder' | 'releaseProfile'

/** A call that did not do what it was for. Its message is for people and has no secret. */
export class ProviderFailure extends Error {
  /** `subject/reason` of SGP.22 when the provider refused; undefined: nobody knows whether it did it. */
  readonly refusal: string | undefined

  constructor(message: string, refusal?: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProviderFailure'
    this.refusal = refusal
  }
}

const TIMEOUT_MS = 20_000
const MOST_OCTETS = 65_536
const PREFIX = '/gsma/rsp2/es2plus'
/** What a server may answer in. */
const ANSWERED = /^gsma\/rsp\/v[23]\./
const STATUSES: readonly unknown[] = ['Executed-Success', 'Executed-WithWarning']

/** Calls the ES2+ of a provider. `id` names the call: a repetition has the same. Throws `ProviderFailure`. SGP.22 §6.5.1. */
export async function callProvider(
  vault: Vault,
  provider: ProviderRow,
  call: {
    readonly name: ProviderFunction
    readonly id: string
    readonly members: Readonly<Record<string, string | boolean | undefined>>
  },
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const { name, id, members } = call
  const header = { functionRequesterIdentifier: provider.requester, functionCallIdentifier: id }
  const request = {
    method: 'POST',
    url: new URL(`${provider.url}${PREFIX}/${name}`),
    headers: HEADERS,
    body: JSON.stringify({ header, ...members }),
  } as const
  const options = { maxBytes: MOST_OCTETS, connect: connectOf(vault, provider) }
  const bound = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  const answer = await requestOnce(options, request, bound).catch((cause: unknown) => {
    throw new ProviderFailure(`${name}: ${whyUnreached(cause)}`, undefined, { cause })
  })
  const { status, headers, text } = answer
  if (status !== 200) throw new ProviderFailure(`${name}: the provider answered HTTP ${status}`)
  const protocol = headers['x-admin-protocol']
  if (typeof protocol === 'string' && !ANSWERED.test(protocol))
    throw new ProviderFailure(`${name}: the provider answered in another protocol than SGP.22 version 2 or 3`)
  return executed(name, text)
}

function connectOf(vault: Vault, { id, ca, cert, key_sealed }: ProviderRow) {
  return {
    ...(ca !== '' && { ca }),
    ...(cert !== '' &&
      key_sealed !== null && { cert, key: Buffer.from(vault.open(key_sealed, `esim_smdp_provider/${id}`)) }),
  }
}

function whyUnreached(cause: unknown): string {
  if (cause instanceof Error && cause.name === 'TimeoutError')
    return `no answer within ${TIMEOUT_MS / 1_000} s`
  const code = codeOf(cause)
  return `the provider cannot be reached${code === '' ? '' : ` (${code})`}`
}

/** The members of an answer that says it was done. Throws `ProviderFailure`. SGP.22 §6.5.1.4. */
function executed(name: string, text: string): Readonly<Record<string, unknown>> {
  const body = objectIn(Buffer.from(text))
  const status = memberOf(memberOf(body, 'header'), 'functionExecutionStatus')
  const said = memberOf(status, 'status')
  if (body === undefined || typeof said !== 'string')
    throw new ProviderFailure(`${name}: the answer is no JSON with functionExecutionStatus`)
  if (STATUSES.includes(said)) return body
  const data = memberOf(status, 'statusCodeData')
  const refusal = `${codeIn(data, 'subjectCode')}/${codeIn(data, 'reasonCode')}`
  const words = WORDS[refusal] ?? wordsIn(memberOf(data, 'message')) ?? 'the provider does not say why'
  throw new ProviderFailure(`${name}: refused, ${refusal}: ${words}`, refusal)
}

/** SGP.22 §5.3 and §5.2.6: what people at a box do about it. */
const WORDS: Readonly<Record<string, string>> = {
  '8.2.1/1.2':
    'this profile is not yours to order; compare requester and client certificate with the provider',
  '8.2.1/3.3': 'the profile is ordered already, or is not free',
  '8.2.1/3.5': 'the profile cannot be released now',
  '8.2.1/3.9': 'the provider does not know this ICCID; send it the order file first',
  '8.2.5/3.9': 'the provider does not know this profile type; correct profile_type',
  '8.2.5/3.8': 'the profile of this ICCID is of another type; correct profile_type',
  '8.2.5/3.7': 'the provider has no more profiles of this type',
}

function codeIn(data: unknown, name: string): string {
  const code = memberOf(data, name)
  return typeof code === 'string' && /^[0-9.]{1,20}$/.test(code) ? code : '?'
}

const MOST_WORDS = 120

/** What a stranger says, without signs that a terminal obeys and digits that may be an identity. */
function wordsIn(message: unknown): string | undefined {
  if (typeof message !== 'string' || message.trim() === '') return undefined
  return message
    .replaceAll(/[^\x20-\x7e]/g, ' ')
    .replaceAll(/[0-9a-f]{10,}/gi, '(not shown)')
    .slice(0, MOST_WORDS)
}
