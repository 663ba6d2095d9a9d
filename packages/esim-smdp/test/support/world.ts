import { createHash, createHmac } from 'node:crypto'
import type {
  Db,
  ImsiHash,
  SimCredentials,
  SimIssuer,
  SubscriberState,
  Subscribers,
  SubscriberView,
  Vault,
} from '@steeple/contracts'
import { luhnCheckDigit } from '@steeple/telecom'
import { type FakeClock, type FakeContext, fakeClock, fakeContext, memoryDb } from '@steeple/testkit'
import { createEuicc, type Es9Transport, type Euicc, type EuiccChain } from '@steeple/virtual-euicc'
import type { EsimConfig } from '../../src/config.ts'
import { ES9_FUNCTIONS } from '../../src/es9/core.ts'
import { createEs9, type Es9 } from '../../src/es9/es9.ts'
import { MIGRATIONS } from '../../src/migrations.ts'
import type { EsimParts, RspIdentity } from '../../src/parts.ts'
import { readTemplate } from '../../src/profile/template-in-force.ts'
import { CODES, type CodeRow } from '../../src/store/rows.ts'
import { eidOf, type Pki, pki } from './pki.ts'

/** The address of the server of the tests. */
export const ADDRESS = 'smdp.example.com'
/** When its clock begins. */
export const START_MS = Date.UTC(2026, 5, 15, 12)
const DAY_MS = 86_400_000

export const CONFIG: EsimConfig = {
  enabled: true,
  smdp_address: ADDRESS,
  single_use: true,
  certs_dir: '',
  template: '',
  listen: '',
  behind_proxy: [],
  code_expiry: '30d',
  session_life: '15m',
  max_downloads: 10,
  max_confirmation_attempts: 3,
  provider_name: 'Steeple',
  notifications: { listen: '', client_ca: '' },
  es2: {
    listen: '',
    client_ca: '',
    profile_types: ['default'],
    max_orders_per_hour: 1_000,
    notify_url: '',
    notify_ca: '',
    notify_cert: '',
  },
}

/** What a test says of a code. */
export interface CodeOptions {
  readonly confirmation?: string
  readonly row?: Partial<CodeRow>
}
export interface TestCode {
  readonly token: string
  readonly matchingId: string
  readonly activationCode: string
  readonly hash: ImsiHash
}

/** An SM-DP+ without an edge, its SIMs and its eUICCs. */
export interface World extends AsyncDisposable {
  readonly fake: FakeContext<EsimConfig>
  readonly clock: FakeClock
  readonly parts: EsimParts
  readonly es9: Es9
  readonly pki: Pki
  /** Identities that the server has; a test may change them. */
  readonly identities: EsimParts['certs'] extends { identities(): readonly (infer I)[] } ? I[] : never
  /** Serial numbers of certificates that are taken back; a test may change them. */
  readonly revoked: Set<string>
  /** Tokens of codes that a restore has closed; a test may change them. */
  readonly closed: Set<string>
  /** States of SIMs; a test may change them. */
  readonly states: Map<string, SubscriberState>
  issue(number: number, options?: CodeOptions): Promise<TestCode>
  euicc(number: number): Euicc
  /** Its certificates and key. */
  chain(number: number): EuiccChain
  row(code: Pick<TestCode, 'token'>): Promise<CodeRow>
  readonly transport: Es9Transport
  /** One call with a body: HTTP status, and `subject/reason` or `ok`. */
  call(
    name: string,
    body: unknown,
    network?: string,
  ): Promise<{ status: number; code: string; body: unknown }>
  refusals(reason: string): number
  close(): Promise<void>
}

/** Hierarchies cost time and are the same for all tests. */
let first: Pki | undefined

export async function world(
  options: {
    readonly db?: Db
    readonly pki?: Pki
    readonly config?: Partial<EsimConfig>
    readonly clock?: FakeClock
  } = {},
): Promise<World> {
  first ??= options.pki === undefined ? pki('P-256') : first
  const hierarchy = options.pki ?? first ?? pki('P-256')
  const clock = options.clock ?? fakeClock(START_MS)
  const memory = options.db === undefined ? memoryDb(MIGRATIONS) : undefined
  const db = options.db ?? memory
  if (db === undefined) throw new Error('there is a store')
  const fake = fakeContext({ config: { ...CONFIG, ...options.config }, id: 'esim-smdp', clock, db })
  const identities = [hierarchy.identity]
  const revoked = new Set<string>()
  const closed = new Set<string>()
  const seen = new Map<string, RspIdentity>()
  const states = new Map<string, SubscriberState>()
  const template = readTemplate('')
  const parts: EsimParts = {
    context: fake.context,
    vault: fakeVault(),
    subscribers: fakeSubscribers(states),
    issuer: fakeIssuer(states),
    certs: {
      identities: () => {
        for (const one of identities) seen.set(one.id, one)
        return identities
      },
      isRevoked: ({ serial }) => revoked.has(serial),
      identity: (id) => identities.find((one) => one.id === id) ?? seen.get(id),
      identitiesHeld: () => [...seen.values()],
      tls: () => undefined,
      reload: async () => {},
    },
    lookup: { mac: async (text) => createHmac('sha256', 'test').update(text).digest() },
    closed: { among: async (_kind, ids) => new Set(ids.filter((id) => closed.has(id))) },
    isMadeForLab: () => false,
    makeCertificates: async () => {},
    phones: () => undefined,
    template: () => template,
    checkTemplates: () => {},
  }
  const es9 = createEs9(parts)
  const chains = new Map<number, EuiccChain>()
  const chain = (number: number): EuiccChain => {
    const made = chains.get(number) ?? hierarchy.chain(eidOf(number))
    chains.set(number, made)
    return made
  }
  const call: World['call'] = async (name, body, network = '') => {
    const found = ES9_FUNCTIONS.find((one) => one === name)
    if (found === undefined) throw new Error(`no function ${name}`)
    const octets = body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body))
    const answer = await es9.call(found, octets, network)
    return { status: answer.status, code: codeOf(answer.body), body: answer.body }
  }
  return {
    fake,
    clock,
    parts,
    es9,
    pki: hierarchy,
    identities,
    revoked,
    closed,
    states,
    call,
    issue: (number, more) => issue(parts, states, number, more),
    chain,
    euicc: (number) => createEuicc({ eid: eidOf(number), chains: [chain(number)] }),
    row: async ({ token }) => {
      const row = await CODES.find(db, { token })
      if (row === undefined) throw new Error(`no code ${token}`)
      return row
    },
    refusals: (reason) => fake.metrics.value('svc_esim_smdp_refusals_total', { reason }) ?? 0,
    transport: async (url, _headers, body) => {
      const answer = await es9.call(functionOf(url), Buffer.from(body), '')
      const text = answer.body === undefined ? '' : JSON.stringify(answer.body)
      return { status: answer.status, contentType: answer.headers['content-type'], body: text }
    },
    async [Symbol.asyncDispose](this: World) {
      await this.close()
    },
    close: async () => {
      await fake.dispose()
      memory?.close()
    },
  }
}

/** `subject/reason` of a refusal, `ok` otherwise, `-` without a body. */
export function codeOf(body: unknown): string {
  if (body === undefined) return '-'
  // Bodies are what es9.call gives: see refusal.ts.
  const { functionExecutionStatus: status } = (body as { header: { functionExecutionStatus: Status } }).header
  if (status.status === 'Executed-Success') return 'ok'
  return `${status.statusCodeData?.subjectCode}/${status.statusCodeData?.reasonCode}`
}
interface Status {
  readonly status: string
  readonly statusCodeData?: { readonly subjectCode: string; readonly reasonCode: string }
}

function functionOf(url: string): (typeof ES9_FUNCTIONS)[number] {
  const name = ES9_FUNCTIONS.find((one) => url.endsWith(`/${one}`))
  if (name === undefined) throw new Error(`no function at ${url}`)
  return name
}

/** The digits of the ICCID of the test SIM with that number. */
export function iccidOf(number: number): string {
  const digits = `8999901${String(number).padStart(11, '0')}`
  return `${digits}${luhnCheckDigit(digits)}`
}

async function issue(
  { context, vault, lookup }: EsimParts,
  states: Map<string, SubscriberState>,
  number: number,
  { confirmation, row = {} }: CodeOptions = {},
): Promise<TestCode> {
  const nowMs = context.clock.nowMs()
  const hash = row.hash ?? hashOf(number)
  const token = row.token ?? `token-${number}`
  const matchingId = `M-${token.toUpperCase()}`
  const sealed = (octets: Uint8Array) => vault.seal(octets, `esim_smdp_code/${token}`)
  const code: CodeRow = {
    token,
    hash,
    state: 'released',
    matching_mac: await lookup.mac(matchingId),
    matching_sealed: sealed(Buffer.from(matchingId)),
    confirmation_sealed:
      confirmation === undefined ? null : sealed(createHash('sha256').update(confirmation).digest()),
    iccid_mac: await lookup.mac(iccidOf(number)),
    iccid_last4: iccidOf(number).slice(-4),
    eid_hash: null,
    eid_last4: null,
    smdp_address: ADDRESS,
    single_use: context.config.single_use ? 1 : 0,
    attempts: 0,
    confirmation_attempts: 0,
    downloads: 0,
    last_error: null,
    batch_id: null,
    created_at_ms: nowMs,
    expires_at_ms: nowMs + 30 * DAY_MS,
    changed_at_ms: nowMs,
    ...row,
  }
  await context.db.write((tx) => CODES.put(tx, code))
  if (!states.has(hash)) states.set(hash, 'issued')
  return { token, matchingId, activationCode: `LPA:1$${ADDRESS}$${matchingId}`, hash: hash as ImsiHash }
}

/** The hash that stands for the SIM with that number; the number can be read in it. */
export function hashOf(number: number): ImsiHash {
  return number.toString(16).padStart(12, '0') as ImsiHash
}

function viewOf(states: Map<string, SubscriberState>, imsi: ImsiHash): SubscriberView | undefined {
  const state = states.get(imsi)
  // The rest is not looked at.
  return state === undefined
    ? undefined
    : ({ imsi, state, plmn: '999-70', profile: 'default' } as unknown as SubscriberView)
}

function fakeSubscribers(states: Map<string, SubscriberState>): Subscribers {
  return { find: async (imsi: ImsiHash) => viewOf(states, imsi) } as unknown as Subscribers
}

function fakeIssuer(states: Map<string, SubscriberState>): SimIssuer {
  const credentials = (imsi: ImsiHash): SimCredentials => {
    const number = Number.parseInt(imsi, 16)
    const text = (value: string) => new Uint8Array(Buffer.from(value))
    return {
      imsi: `99970${String(number).padStart(10, '0')}` as never,
      iccid: text(iccidOf(number)),
      ki: new Uint8Array(createHash('md5').update(`ki ${number}`).digest()),
      opc: new Uint8Array(createHash('md5').update(`opc ${number}`).digest()),
      adm1: text('87654321'),
      pin1: text('1234'),
      puk1: text('12345678'),
      pin2: text('4321'),
      puk2: text('87654321'),
      wipe: () => {},
    }
  }
  const sim: SimIssuer['sim'] = async (imsi) => {
    const view = viewOf(states, imsi)
    if (view === undefined) return undefined
    return { view, iccid: () => credentials(imsi).iccid, credentials: () => credentials(imsi) }
  }
  return { credentials: async (imsi: ImsiHash) => credentials(imsi), sim } as unknown as SimIssuer
}

/** Seals by writing the row's name in front: what is opened under another one is refused. */
function fakeVault(): Vault {
  const nameOf = (rowId: string) => createHash('sha256').update(rowId).digest()
  return {
    keyId: 'test',
    register: () => {},
    seal: (plain, rowId) => Buffer.concat([nameOf(rowId), plain]),
    open: (sealed, rowId) => {
      if (!nameOf(rowId).equals(sealed.subarray(0, 32))) throw new Error(`not sealed for ${rowId}`)
      return Uint8Array.from(sealed.subarray(32))
    },
  }
}
