import { hash, verify, X509Certificate } from 'node:crypto'
import {
  isRecord,
  type JsonSchema,
  jsonIn,
  msFromTimestamp,
  type NodeCredentials,
  nodeIdIn,
  recordSchema,
  validationFailed,
} from '@steeple/contracts'
import { PARTS, type State } from './state.ts'

/** Nothing else that the hub's key signs begins so. */
const PURPOSE = 'steeple desired state of a box, form 1\n'
const FORM = 1
/** Of the text of a document. */
export const MOST_CHARACTERS = 262_144
const TEXT: JsonSchema = { type: 'string' }

/** What one box is to have, as its hub says it. */
export interface BoxDocument {
  /** Node ids. */
  readonly hub: string
  readonly node: string
  readonly version: number
  /** RFC 3339. */
  readonly issued_at: string
  /** Whose state it is made of. */
  readonly groups: readonly string[]
  readonly state: State
}

/** A document on its way: its text, and what proves whose it is. */
export interface SignedDocument {
  readonly document: string
  /** ECDSA over SHA-256, DER, base64: of the purpose and the text. */
  readonly signature: string
  readonly certificate_pem: string
}

export const SIGNED_SCHEMA: JsonSchema = recordSchema({
  document: { ...TEXT, description: 'JSON. The signature is over these very characters.' },
  signature: { ...TEXT, description: 'ECDSA over SHA-256, DER, base64.' },
  certificate_pem: { ...TEXT, description: 'Of the node of the hub, below the CA of the mesh.' },
})

/** The text of a document. */
export function documentText(document: BoxDocument): string {
  return JSON.stringify({ form: FORM, ...document })
}

export function digestOf(text: string): string {
  return hash('sha256', text)
}

export function signed(identity: Pick<NodeCredentials, 'sign' | 'tls'>, text: string): SignedDocument {
  const signature = Buffer.from(identity.sign(octetsOf(text))).toString('base64')
  return { document: text, signature, certificate_pem: identity.tls().cert }
}

function octetsOf(text: string): Uint8Array {
  return Buffer.from(`${PURPOSE}${text}`)
}

/** Whose document a box believes. */
interface Believed {
  readonly caPem: string
  /** Node ids: of the hub, and of the box itself. */
  readonly hub: string
  readonly node: string
}

/** The document in an answer, of which nothing is known. Throws `validation_failed` for what is not of that hub for that box. */
export function verified(
  answer: unknown,
  { caPem, hub, node }: Believed,
): BoxDocument & { readonly text: string } {
  const { document: text, signature, certificate_pem: pem } = isRecord(answer) ? answer : {}
  if (
    typeof text !== 'string' ||
    typeof signature !== 'string' ||
    typeof pem !== 'string' ||
    text.length > MOST_CHARACTERS
  )
    throw wrong('has another form than this box knows')
  const certificate = readCertificate(pem)
  const ca = new X509Certificate(caPem)
  if (certificate === undefined || !isIssuedBy(certificate, ca))
    throw wrong('is signed by nobody of this mesh')
  if (nodeIdIn(certificate.subjectAltName) !== hub) throw wrong('is signed by another box than the hub')
  if (!verify('sha256', octetsOf(text), certificate.publicKey, Buffer.from(signature, 'base64')))
    throw wrong('was changed: its signature does not hold')
  const found = readDocument(text)
  if (found.hub !== hub || found.node !== node) throw wrong('is for another box, or of another hub')
  return { ...found, text }
}

function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

function isIssuedBy(certificate: X509Certificate, ca: X509Certificate): boolean {
  return !certificate.ca && certificate.checkIssued(ca) && certificate.verify(ca.publicKey)
}

/** A document by its text. Throws `validation_failed`. */
export function readDocument(text: string): BoxDocument {
  const value = jsonIn(text)
  if (!isRecord(value) || value.form !== FORM) throw wrong('has another form than this box knows')
  const { hub, node, version, issued_at, groups, state } = value
  const isWhole =
    typeof hub === 'string' &&
    typeof node === 'string' &&
    Number.isSafeInteger(version) &&
    Number(version) > 0 &&
    typeof issued_at === 'string' &&
    msFromTimestamp(issued_at) !== undefined &&
    Array.isArray(groups) &&
    groups.every((group) => typeof group === 'string') &&
    isState(state)
  if (!isWhole) throw wrong('has another form than this box knows')
  return { hub, node, version: Number(version), issued_at, groups, state }
}

function isState(value: unknown): value is State {
  if (!isRecord(value)) return false
  const known: readonly string[] = PARTS
  return Object.entries(value).every(([part, values]) => known.includes(part) && isRecord(values))
}

function wrong(what: string): Error {
  return validationFailed(`the desired state from the hub ${what}`)
}

/** What a box keeps of the documents of a hub: the newest. */
export interface Kept {
  readonly version: number
  readonly digest: string
}

/** What a document is to a box that keeps that one. */
export function orderOf(kept: Kept | undefined, coming: Kept): 'newer' | 'same' | 'older' | 'other' {
  if (kept === undefined || coming.version > kept.version) return 'newer'
  if (coming.version < kept.version) return 'older'
  return coming.digest === kept.digest ? 'same' : 'other'
}

/** What a box tells the hub of a part. */
export interface PartReport {
  readonly part: string
  readonly status: PartStatus
  readonly problems: readonly { readonly pointer: string; readonly code: string; readonly message: string }[]
  readonly drift: readonly { readonly pointer: string; readonly desired: string; readonly actual: string }[]
}
/** `waiting`: not tried yet, or tried again soon. */
export type PartStatus = 'applied' | 'refused' | 'not_permitted' | 'waiting'
export interface BoxReport {
  /** Of the document that it keeps; 0: none. */
  readonly version: number
  readonly digest: string
  readonly permitted: readonly string[]
  readonly parts: readonly PartReport[]
}

const MOST_ROWS = 50
const LONGEST = 500
const SHORT_TEXT: JsonSchema = { type: 'string', maxLength: LONGEST }
export const PARTS_SCHEMA: JsonSchema = {
  type: 'array',
  maxItems: PARTS.length,
  items: recordSchema({
    part: { type: 'string', enum: [...PARTS] },
    status: {
      type: 'string',
      enum: ['applied', 'refused', 'not_permitted', 'waiting'],
      description: 'waiting: not tried yet, or tried again soon. Refused ones are tried again each minute.',
    },
    problems: {
      type: 'array',
      maxItems: MOST_ROWS,
      items: recordSchema({ pointer: SHORT_TEXT, code: SHORT_TEXT, message: SHORT_TEXT }),
      description: "The box's own errors.",
    },
    drift: {
      type: 'array',
      maxItems: MOST_ROWS,
      items: recordSchema({ pointer: SHORT_TEXT, desired: SHORT_TEXT, actual: SHORT_TEXT }),
      description: 'What differs now, as JSON, cut where it is long.',
    },
  }),
}
export const PERMITTED_SCHEMA: JsonSchema = {
  type: 'array',
  maxItems: PARTS.length,
  uniqueItems: true,
  items: { type: 'string', enum: [...PARTS] },
}
export const REPORT_SCHEMA: JsonSchema = recordSchema({
  version: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER - 1 },
  digest: { type: 'string', pattern: '^([0-9a-f]{64})?$' },
  permitted: PERMITTED_SCHEMA,
  parts: PARTS_SCHEMA,
})

/** As much as a report has room for. */
export function short(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`
}

export function rowsOf<Row>(rows: readonly Row[]): readonly Row[] {
  return rows.slice(0, MOST_ROWS)
}

/** What a box has told; undefined of one that has told nothing. */
export function reportIn(text: string | undefined): BoxReport | undefined {
  // Written by the route, from its schema.
  return text === undefined ? undefined : (JSON.parse(text) as BoxReport)
}
