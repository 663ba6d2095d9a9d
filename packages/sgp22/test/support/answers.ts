import { readFileSync } from 'node:fs'
import type { RspCurve } from '../../src/bsp.ts'

/** Known answers on one curve, hexadecimal. */
export interface Answers {
  readonly otSK_DP_hex: string
  readonly otSK_EUICC_hex: string
  readonly otPK_DP: string
  readonly otPK_EUICC: string
  readonly sharedSecret_x: string
  readonly hostId: string
  readonly eid: string
  readonly initialMacChainingValue: string
  readonly 'S-ENC': string
  readonly 'S-MAC': string
  readonly configureIsdp_plain: string
  readonly firstSequenceOf87: readonly string[]
  readonly storeMetadata_plain: string
  readonly sequenceOf88: readonly string[]
  readonly ppk: {
    readonly ppkEnc: string
    readonly ppkCmac: string
    readonly initialMacChainingValue: string
  }
  readonly replaceSessionKeys_plain: string
  readonly secondSequenceOf87: readonly string[]
  readonly sequenceOf86_with_ppk: readonly string[]
  readonly sequenceOf86_with_session_keys: readonly string[]
}

/** A session that others recorded; `seq` are its segments in order. */
export interface RecordedKeys {
  readonly sharedSecret: string
  readonly eid: string
  readonly hostId: string
  readonly 'S-ENC': string
  readonly 'S-MAC': string
  readonly mcv: string
  readonly seq?: readonly { readonly tag: string; readonly plain: string; readonly out: string }[]
}

const FILE = new URL('../fixtures/bsp-kat.json', import.meta.url)
const ALL: {
  readonly prime256v1: Answers
  readonly brainpoolP256r1: Answers
  readonly thirdPartyKdf: readonly RecordedKeys[]
} = JSON.parse(readFileSync(FILE, 'utf8'))

/** Computed by two implementations that share nothing with this one. */
export const ANSWERS: ReadonlyMap<RspCurve, Answers> = new Map([
  ['P-256', ALL.prime256v1],
  ['brainpoolP256r1', ALL.brainpoolP256r1],
])
export const RECORDED: readonly RecordedKeys[] = ALL.thirdPartyKdf

export const octets = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'))
export const hex = (text: Uint8Array): string => Buffer.from(text).toString('hex')
/** The profile of the known answers: 2500 octets that count up. */
export const PROFILE: Uint8Array = Uint8Array.from({ length: 2500 }, (_, i) => i & 0xff)
