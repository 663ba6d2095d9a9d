import { createHash, createHmac } from 'node:crypto'
import { milenageF1, milenageF2345 } from '@steeple/telecom'
import type { KnownCard } from './provisioning.ts'

/** A challenge as the AUSF gives it, hexadecimal. TS 29.509 §6.1.6.2.5. */
interface Challenge {
  readonly rand: string
  readonly autn: string
  readonly hxresStar: string
}

/** What a card and its phone make of a challenge, hexadecimal. */
interface Answered {
  readonly resStar: string
  readonly kseaf: string
  /** Under which number the network asks. */
  readonly sqn: string
  /** Whether the network's own code and the digest of the answer are right. */
  readonly isOfTheNetwork: boolean
}

/** A phone's side of 5G AKA. `network`: the serving network's name, TS 24.501 §9.12.1. TS 33.501 annex A. */
function answerChallenge(card: KnownCard, challenge: Challenge, network: string): Answered {
  const keys = { k: Buffer.from(card.ki, 'hex'), opc: Buffer.from(card.opc, 'hex') }
  const [rand, autn] = [Buffer.from(challenge.rand, 'hex'), Buffer.from(challenge.autn, 'hex')]
  const { res, ck, ik, ak } = milenageF2345(keys, rand)
  const hidden = autn.subarray(0, 6)
  const sqn = hidden.map((octet, i) => octet ^ (ak[i] ?? 0))
  const { macA } = milenageF1(keys, rand, sqn, autn.subarray(6, 8))
  const cipherAndIntegrity = Buffer.concat([ck, ik])
  const name = Buffer.from(network)
  const resStar = derived(cipherAndIntegrity, 0x6b, [name, rand, Buffer.from(res)]).subarray(16)
  const kausf = derived(cipherAndIntegrity, 0x6a, [name, hidden])
  const digest = createHash('sha256').update(rand).update(resStar).digest().subarray(16)
  return {
    resStar: resStar.toString('hex'),
    kseaf: derived(kausf, 0x6c, [name]).toString('hex'),
    sqn: Buffer.from(sqn).toString('hex'),
    isOfTheNetwork:
      autn.subarray(8).equals(Buffer.from(macA)) && digest.toString('hex') === challenge.hxresStar,
  }
}

/** AUTS: what a card that is at `sqn` says to a challenge whose number it has seen already, hexadecimal. TS 33.102 §6.3.3. */
export function resynchronisation(
  card: KnownCard,
  challenge: Challenge,
  sqn: string,
): { readonly rand: string; readonly auts: string } {
  const keys = { k: Buffer.from(card.ki, 'hex'), opc: Buffer.from(card.opc, 'hex') }
  const [rand, own] = [Buffer.from(challenge.rand, 'hex'), Buffer.from(sqn, 'hex')]
  const { akStar } = milenageF2345(keys, rand)
  const hidden = own.map((octet, i) => octet ^ (akStar[i] ?? 0))
  const { macS } = milenageF1(keys, rand, own, Buffer.alloc(2))
  return { rand: challenge.rand, auts: Buffer.concat([hidden, macS]).toString('hex') }
}

/** The key derivation function, TS 33.220 annex B.2. */
function derived(key: Buffer, code: number, parts: readonly Buffer[]): Buffer {
  const mac = createHmac('sha256', key).update(Buffer.of(code))
  for (const part of parts) mac.update(part).update(Buffer.of(part.length >> 8, part.length & 0xff))
  return mac.digest()
}

const [NRF, AUSF, UDM, SMF] = ['10', '9', '3', '2'].map((last) => `http://127.0.0.${last}:8000`)
/** The slice that is configured unless another is. */
const SLICE: Slice = { sst: 1, sd: '010203' }
/** What no phone and no AMF of the test waits for. */
const NOBODY = 'http://127.0.0.18:8000/nobody'
/** PDU session establishment request of session 1: full rate, IPv4, SSC mode 1. TS 24.501 §8.3.1. */
const ESTABLISHMENT = Buffer.from('2e0101c1ffff91a1', 'hex')

export interface FunctionAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a body of the core; assertions look at what matters
  readonly body: any
}

/** A slice as the functions name it. */
export interface Slice {
  readonly sst: number
  readonly sd?: string
}

/** A network as the functions name it. */
export interface ServingNetwork {
  readonly mcc: string
  readonly mnc: string
}

async function asked(url: string, init: RequestInit = {}): Promise<FunctionAnswer> {
  const answered = await fetch(url, init)
  const text = await answered.text()
  return { status: answered.status, body: /^[[{]/.test(text) ? JSON.parse(text) : text }
}

const json = (method: string, body: object): RequestInit => ({
  method,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** TS 24.501 §9.12.1. */
function nameOf({ mcc, mnc }: ServingNetwork): string {
  return `5G:mnc${mnc.padStart(3, '0')}.mcc${mcc}.3gppnetwork.org`
}

export interface Authentication {
  /** Of the first question; 201 when the core gave a challenge. */
  readonly challenged: FunctionAnswer
  /** What the card made of it, and what the AUSF said to that. */
  readonly answered?: Answered
  readonly confirmed?: FunctionAnswer
}

/** Who asks, and with which words. */
export interface AuthenticationRequest {
  /** As the phone names itself; else by its SUPI. */
  readonly name?: string
  /** What the card says of its SQN, and in answer to which challenge, hexadecimal. TS 29.503 §6.3.6.2.5. */
  readonly resynchronizationInfo?: { readonly rand: string; readonly auts: string }
}

/** An identity under the null scheme, as phones send it that conceal nothing. TS 23.003 §2.2B. */
export function suciOf(imsi: string, { mcc, mnc }: ServingNetwork): string {
  return `suci-0-${mcc}-${mnc}-0000-0-0-${imsi.slice(mcc.length + mnc.length)}`
}

/** What the AUSF of a release answers for a subscriber that the UDM does not know. */
export function unknownStatus(release: string): number {
  return /^(3|4[.]0)[.]/.test(release) ? 500 : 404
}

/** Asks the AUSF as the AMF does at a registration, with the answers of `card`. TS 29.509 §5.2.2.2.2. */
export async function authenticate(
  card: KnownCard,
  place: ServingNetwork,
  { name = `imsi-${card.imsi}`, ...again }: AuthenticationRequest = {},
): Promise<Authentication> {
  const network = nameOf(place)
  const challenged = await asked(
    `${AUSF}/nausf-auth/v1/ue-authentications`,
    json('POST', { supiOrSuci: name, servingNetworkName: network, ...again }),
  )
  if (challenged.status !== 201) return { challenged }
  const answered = answerChallenge(card, challenged.body['5gAuthData'], network)
  // One link up to 3.4, a list in 4.
  const [link] = Object.values(challenged.body._links as Record<string, { href: string }>).flat()
  if (link === undefined) return { challenged, answered }
  const path = new URL(link.href).pathname
  const confirmed = await asked(`${AUSF}${path}`, json('PUT', { resStar: answered.resStar }))
  return { challenged, answered, confirmed }
}

/** Asks the UDM for a subscriber's data as AMF and SMF do. TS 29.503 §5.2.2.2. */
export function askSubscriber(
  imsi: string,
  what: 'am-data' | 'smf-select-data' | 'sm-data',
  place: ServingNetwork,
  { release, slice = SLICE }: { readonly release: string; readonly slice?: Slice },
): Promise<FunctionAnswer> {
  // Up to 3.4 it serves an older version.
  const version = release.startsWith('3.') ? 'v1' : 'v2'
  const query = new URLSearchParams({ 'plmn-id': JSON.stringify(place) })
  if (what === 'sm-data') query.set('single-nssai', JSON.stringify(slice))
  return asked(`${UDM}/nudm-sdm/${version}/imsi-${imsi}/${what}?${query}`)
}

/** Under which id the AMF has told the NRF of itself: the SMF asks for it. */
async function amfId(): Promise<string> {
  const found = await asked(`${NRF}/nnrf-disc/v1/nf-instances?target-nf-type=AMF&requester-nf-type=SMF`)
  return found.body.nfInstances[0].nfInstanceId
}

/** Asks the SMF for a session as the AMF does; 201 when it has one. TS 29.502 §5.2.2.2.1. */
export async function askForSession(
  imsi: string,
  dnn: string,
  place: ServingNetwork,
  slice: Slice = SLICE,
): Promise<FunctionAnswer> {
  const context = {
    supi: `imsi-${imsi}`,
    pei: 'imeisv-4370816125816151',
    pduSessionId: 1,
    dnn,
    sNssai: slice,
    servingNfId: await amfId(),
    guami: { plmnId: place, amfId: 'cafe00' },
    servingNetwork: place,
    requestType: 'INITIAL_REQUEST',
    n1SmMsg: { contentId: 'n1msg' },
    anType: '3GPP_ACCESS',
    ratType: 'NR',
    smContextStatusUri: NOBODY,
  }
  const boundary = 'between'
  const part = (head: string): Buffer => Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`)
  const body = Buffer.concat([
    part('Content-Type: application/json'),
    Buffer.from(JSON.stringify(context)),
    Buffer.from('\r\n'),
    part('Content-Type: application/vnd.3gpp.5gnas\r\nContent-Id: n1msg'),
    ESTABLISHMENT,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  const headers = { 'content-type': `multipart/related; boundary=${boundary}` }
  return asked(`${SMF}/nsmf-pdusession/v1/sm-contexts`, { method: 'POST', headers, body })
}
