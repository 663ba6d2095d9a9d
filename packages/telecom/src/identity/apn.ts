import type { Branded } from '../brand.ts'

/** An APN network identifier, `internet` or `ims.example`, in the case it was written in. */
export type Apn = Branded<string, 'Apn'>

/** TS 23.003 §9.1.1: a network identifier has at most 63 octets once encoded (a whole APN at most 100, §9.1). */
const NETWORK_IDENTIFIER_MAX_OCTETS = 63
/** TS 23.003 §9.1.1: what a network identifier shall not start with. */
const RESERVED_STARTS: readonly string[] = ['rac', 'lac', 'sgsn', 'rnc']
/** TS 23.003 §9.1.1: the end that marks an operator identifier. */
const OPERATOR_END = '.gprs'
/** TS 23.003 §9.1: letters, digits and hyphen, neither first nor last a hyphen. */
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/

/** The network identifier in a text, `undefined` when `apnProblem` finds one. */
export function parseApn(text: string): Apn | undefined {
  return apnProblem(text) === undefined ? (text as Apn) : undefined // the check above is the brand's condition
}

/**
 * What keeps a text from being an APN network identifier, as the end of a sentence; `undefined` when nothing.
 *
 * The wildcard `*` is none: it stands for any APN in a subscription, never for one to connect to.
 *
 * Source: TS 23.003 §9.1, §9.1.1 and §9.2.1.
 */
export function apnProblem(text: string): string | undefined {
  if (text === '') return 'is empty'
  if (text === '*') return 'is the wildcard, which names no APN'
  if (apnOctets(text) > NETWORK_IDENTIFIER_MAX_OCTETS) {
    return `takes more than ${NETWORK_IDENTIFIER_MAX_OCTETS} octets`
  }
  const bad = text.split('.').find((label) => !LABEL.test(label))
  if (bad === '') return 'has an empty label'
  if (bad !== undefined) {
    return `has the label "${bad}", which is not letters, digits and inner hyphens`
  }
  const lower = text.toLowerCase()
  const start = RESERVED_STARTS.find((reserved) => lower.startsWith(reserved))
  if (start !== undefined) return `starts with "${start}", which is reserved`
  return lower.endsWith(OPERATOR_END)
    ? `ends in "${OPERATOR_END}", which marks an operator identifier`
    : undefined
}

/** Octets of an APN of ASCII letters as labels with a length octet each. Source: TS 23.003 §9.1. */
function apnOctets(text: string): number {
  return text.length + 1
}
