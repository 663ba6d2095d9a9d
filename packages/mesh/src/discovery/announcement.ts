import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { isRecord, UUID_PATTERN } from '@steeple/contracts'
import type { Suggestion } from '../suggestions.ts'

/** What a node says of itself by mDNS. */
export interface Announcement {
  readonly nodeId: string
  readonly name: string
  readonly meshName: string
  /** SHA-256 of its certificate's DER, 64 hexadecimal digits. */
  readonly fingerprint: string
  /** TCP, of its API. */
  readonly port: number
}

/** `_svc-mesh._tcp`, as the library takes it. */
export const SERVICE_TYPE = 'svc-mesh'
/** RFC 6763 §4.1.1: an instance name has at most 63 octets. */
const NAME_OCTETS = 63
const NAME_CHARACTERS = 64
/** Of a message that fits into a frame. */
const TXT_KEYS = 16
const VERSION = '1'
const NODE_ID = new RegExp(UUID_PATTERN)
const FINGERPRINT = /^[0-9a-f]{64}$/
/** Letters, marks, digits, punctuation and spaces: nothing that moves a cursor or turns text around. */
const PLAIN = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,64}$/u

/** The instance name: people read its beginning, the end makes it the only one. */
export function instanceName({ name, nodeId }: Announcement): string {
  const end = ` ${nodeId.slice(0, 8)}`
  let begin = name.replaceAll('.', '-')
  while (Buffer.byteLength(begin + end) > NAME_OCTETS) begin = [...begin].slice(0, -1).join('')
  return begin + end
}

/** The TXT record. RFC 6763 §6. */
export function txtOf({
  nodeId,
  name,
  meshName,
  fingerprint,
}: Announcement): Readonly<Record<string, string>> {
  return { v: VERSION, id: nodeId, name, mesh: meshName, fp: fingerprint }
}

/** What the library gives of a service that it heard of: all of it is a stranger's. */
export interface HeardService {
  readonly port?: unknown
  readonly txt?: unknown
  /** Where the message came from. The addresses that are in it may be anybody's. */
  readonly referer?: unknown
}

/** What was announced, if it keeps to the form; undefined for anything else. */
export function suggestionFrom(heard: HeardService, heardAtMs: number): Suggestion | undefined {
  const txt = isRecord(heard.txt) ? heard.txt : {}
  const { address } = isRecord(heard.referer) ? heard.referer : {}
  const { port } = heard
  if (Object.keys(txt).length > TXT_KEYS || txt.v !== VERSION) return undefined
  const [nodeId, fingerprint] = [text(txt.id, NODE_ID), text(txt.fp, FINGERPRINT)]
  const [name, meshName] = [text(txt.name, PLAIN), text(txt.mesh, PLAIN)]
  if (nodeId === undefined || fingerprint === undefined || name === undefined || meshName === undefined) {
    return undefined
  }
  if (typeof address !== 'string' || !isIPv4(address)) return undefined
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined
  const id = idOf(nodeId, fingerprint, address, port)
  return { id, nodeId, name, meshName, address, port, fingerprint, heardAtMs }
}

/** A UUID of the writer's own making, as the routes of peers take it. RFC 9562 §5.8. */
function idOf(...parts: readonly (string | number)[]): string {
  const hex = createHash('sha256').update(parts.join(' ')).digest('hex')
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`]
  return [...groups, hex.slice(20, 32)].join('-')
}

function text(value: unknown, form: RegExp): string | undefined {
  return typeof value === 'string' && value.length <= NAME_CHARACTERS && form.test(value) ? value : undefined
}
