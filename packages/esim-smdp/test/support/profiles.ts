import { readFileSync } from 'node:fs'
import type { ProfileFacts } from '../../src/parts.ts'

const NAME = 'TS48_V7.0_eSIM_GTP_SAIP2.3_'

export function fixture(name: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(`../fixtures/${name}`, import.meta.url)))
}

/** The template that the package brings. */
export const BUNDLED: Uint8Array = new Uint8Array(
  readFileSync(new URL(`../../templates/${NAME}NoBERTLV_NoRAMRFM.der`, import.meta.url)),
)
/** It and the other variants of TS.48 version 7. */
export const TEMPLATES: readonly Uint8Array[] = [
  BUNDLED,
  ...['BERTLV_SUCI', 'BERTLV_SUCI_NoRAMRFM', 'NoBERTLV'].map((name) => fixture(`${NAME}${name}.der`)),
]

export const hex = (octets: Uint8Array): string => Buffer.from(octets).toString('hex')
export const octets = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'))
export const ascii = (text: string): Uint8Array => new TextEncoder().encode(text)

/** The facts of the known answer: Ki and OPc of TS 35.208 set 1, an IMSI of a test network. */
export const FACTS: ProfileFacts = {
  imsi: '999700000000001',
  iccid: '899990100000000001',
  ki: octets('465b5ce8b199b49faa5f0a2ee238a6bc'),
  opc: octets('e8ed289deba952e4283b54e88e6183ca'),
  adm1: ascii('87654321'),
  pin1: ascii('1234'),
  puk1: ascii('12345678'),
  pin2: new Uint8Array(0),
  puk2: new Uint8Array(0),
  mncLength: 2,
  spn: 'Steeple',
}
