import { FURTHER_RELEASE } from './core-b-containers.ts'
import { type Answered, answerChallenge } from './phone-authentication.ts'
import type { KnownCard } from './provisioning.ts'

const [NRF, AUSF, UDM, SMF] = ['10', '9', '3', '2'].map((last) => `http://127.0.0.${last}:8000`)
/** 3.4 serves an older version of the subscriber data, and answers 500 for who is not there. */
const IS_OLD = FURTHER_RELEASE.startsWith('3.')
/** What the AUSF answers for a subscriber that the UDM does not know. */
export const UNKNOWN: number = IS_OLD ? 500 : 404
const SLICE = { sst: 1, sd: '010203' }
/** What no phone and no AMF of the test waits for. */
const NOBODY = 'http://127.0.0.18:8000/nobody'
/** PDU session establishment request of session 1: full rate, IPv4, SSC mode 1. TS 24.501 §8.3.1. */
const ESTABLISHMENT = Buffer.from('2e0101c1ffff91a1', 'hex')

/** A function's answer. */
export interface FunctionAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a body of the core; assertions look at what matters
  readonly body: any
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

/** How an authentication ended. */
export interface Authentication {
  /** Of the first question; 201 when the core gave a challenge. */
  readonly challenged: FunctionAnswer
  /** What the card made of it, and what the AUSF said to that. */
  readonly answered?: Answered
  readonly confirmed?: FunctionAnswer
}

/** Asks the AUSF as the AMF does at a registration, with the answers of `card`. TS 29.509 §5.2.2.2.2. */
export async function authenticate(card: KnownCard, place: ServingNetwork): Promise<Authentication> {
  const network = nameOf(place)
  const challenged = await asked(
    `${AUSF}/nausf-auth/v1/ue-authentications`,
    json('POST', { supiOrSuci: `imsi-${card.imsi}`, servingNetworkName: network }),
  )
  if (challenged.status !== 201) return { challenged }
  const answered = answerChallenge(card, challenged.body['5gAuthData'], network)
  // One link in 3.4, a list in 4.
  const [link] = [challenged.body._links['5g-aka']].flat()
  const path = new URL(link.href).pathname
  const confirmed = await asked(`${AUSF}${path}`, json('PUT', { resStar: answered.resStar }))
  return { challenged, answered, confirmed }
}

/** Asks the UDM for a subscriber's data as AMF and SMF do. TS 29.503 §5.2.2.2. */
export function askSubscriber(
  imsi: string,
  what: 'am-data' | 'smf-select-data' | 'sm-data',
  place: ServingNetwork,
): Promise<FunctionAnswer> {
  const query = new URLSearchParams({ 'plmn-id': JSON.stringify(place) })
  if (what === 'sm-data') query.set('single-nssai', JSON.stringify(SLICE))
  return asked(`${UDM}/nudm-sdm/${IS_OLD ? 'v1' : 'v2'}/imsi-${imsi}/${what}?${query}`)
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
): Promise<FunctionAnswer> {
  const context = {
    supi: `imsi-${imsi}`,
    pei: 'imeisv-4370816125816151',
    pduSessionId: 1,
    dnn,
    sNssai: SLICE,
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
