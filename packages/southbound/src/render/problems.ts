import { countText, type Settings, validationFailed } from '@steeple/contracts'
import { apnProblem, isMcc, isMnc } from '@steeple/telecom'
import { Document, isScalar, Scalar, visit } from 'yaml'

/** What may stand in a rendered file. */
export type YamlValue =
  | string
  | number
  | boolean
  | readonly YamlValue[]
  | { readonly [key: string]: YamlValue }

/** A part of a rendered file: keys as the core spells them. */
export type Section = { readonly [key: string]: YamlValue }

const HEADER = ' Written by Steeple. Changes made here are lost with the next one.'

/**
 * A YAML file in which every text is quoted, so that no reader takes `05`, `010203`, `no` or `1e3` for anything but a text.
 *
 * Numbers, truth values and keys stay plain; no key of the core reads as anything but a text. Same value, same bytes.
 */
export function yamlText(value: Section): string {
  const document = new Document(value, { aliasDuplicateObjects: false })
  document.commentBefore = HEADER
  visit(document, {
    Pair: (_key, { value: item }) => {
      quote(item)
    },
    Seq: (_key, { items }) => {
      for (const item of items) quote(item)
    },
  })
  return document.toString({ lineWidth: 0, minContentWidth: 0 })
}

function quote(node: unknown): void {
  if (isScalar(node) && typeof node.value === 'string') node.type = Scalar.QUOTE_DOUBLE
}

/** Takes one problem: the key, and what is wrong with its value. */
export type Found = (key: string, message: string) => void

/** What is wrong with the settings, a line for each problem: its key, and what follows it. */
export function problemsError(lines: readonly string[]): Error {
  return validationFailed(lines.join('\n'), {
    details: lines.map((line) => {
      const [key = ''] = line.split(' ')
      return { pointer: `/${key.replaceAll('.', '/')}`, message: line.slice(key.length + 1) }
    }),
  })
}

/** Subnets that one session function takes. More than 4 APNs of one subscriber are the HSS driver's concern. */
const APNS_MAX = 16
const SLICES_MAX = 8
const UES_MAX = 1_000_000
const SHOWN_MAX = 60

/** A value as people can find it again; cut, and never more than one line. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
}

/** Codes of the network, TS 23.003 §2.2: a core takes a network code of one digit without a word. */
export function checkPlmn({ mcc, mnc }: Settings['plmn'], found: Found): void {
  if (!isMcc(mcc)) found('plmn.mcc', `is ${shown(mcc)}; allowed are 3 digits`)
  if (!isMnc(mnc)) found('plmn.mnc', `is ${shown(mnc)}; allowed are 2 or 3 digits`)
}

/** The network's APNs, TS 23.003 §9.1: how many, their syntax, and that none is there twice in another case. */
export function checkApns(apns: readonly string[], found: Found): void {
  if (apns.length === 0 || apns.length > APNS_MAX)
    found('apns', `has ${countText(apns.length, 'entry', 'entries')}; allowed are 1 to ${APNS_MAX}`)
  const seen = new Set<string>()
  for (const [index, apn] of apns.entries()) {
    const problem = apnProblem(apn)
    const lower = apn.toLowerCase()
    if (problem !== undefined) found(`apns.${index}`, `is ${shown(apn)}: it ${problem}`)
    else if (seen.has(lower)) found(`apns.${index}`, `is ${shown(apn)} a second time`)
    seen.add(lower)
  }
}

export function checkMaxUes(maxUes: number, found: Found): void {
  if (!Number.isInteger(maxUes) || maxUes < 1 || maxUes > UES_MAX)
    found('policy.max_ues', `is ${shown(maxUes)}; allowed is 1 to ${UES_MAX}`)
}

/** What is wrong with the host of the database as the core reaches it, `addresses.mongo`; undefined when nothing. */
export function databaseHostProblem(host: string): string | undefined {
  return /^[A-Za-z0-9.:_-]{1,253}$/.test(host) ? undefined : `is ${shown(host)}; allowed is a host`
}

const MONGO_URL = /^(mongodb(?:\+srv)?:\/\/)((?:[^/?#]*@)?)([^/?#@]+)(?:\/([^?#]*))?(\?[^#]*)?$/

/** The parts of `hss.mongo_url`; empty for one that is not there, undefined when it cannot be read. */
export function mongoUrlParts(
  url: string,
): Readonly<Record<'scheme' | 'login' | 'hosts' | 'database' | 'query', string>> | undefined {
  const match = MONGO_URL.exec(url)
  if (match === null) return undefined
  const [, scheme = '', login = '', hosts = '', database = '', query = ''] = match
  return { scheme, login, hosts, database, query }
}

/** What a core understands by a slice. */
interface SliceRules {
  /** Where the slices stand in the configuration: `core_a.slices`. */
  readonly key: string
  /** The least slice/service type, TS 23.003 §28.4.2: one of the cores takes 0 for a missing slice. */
  readonly leastSst: number
  /** The slice differentiator that means the same as none, when there is one. */
  readonly noSd?: string
}

/** Slices: how many, their ranges, and that none is there twice. */
export function checkSlices(
  slices: Settings['core_a']['slices'],
  { key, leastSst, noSd = 'none' }: SliceRules,
  found: Found,
): void {
  if (slices.length === 0 || slices.length > SLICES_MAX)
    found(key, `has ${countText(slices.length, 'entry', 'entries')}; allowed are 1 to ${SLICES_MAX}`)
  const seen = new Set<string>()
  for (const [index, { sst, sd }] of slices.entries()) {
    const at = `${key}.${index}`
    if (!Number.isInteger(sst) || sst < leastSst || sst > 255)
      found(`${at}.sst`, `is ${shown(sst)}; allowed is ${leastSst} to 255`)
    if (sd !== undefined && !/^[0-9a-fA-F]{6}$/.test(sd))
      found(`${at}.sd`, `is ${shown(sd)}; allowed are 6 hexadecimal digits`)
    const name = `${sst}-${sd?.toLowerCase() ?? noSd}`
    if (seen.has(name)) found(at, `is slice ${name} a second time`)
    seen.add(name)
  }
}
