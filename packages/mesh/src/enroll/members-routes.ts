import {
  type Clock,
  type ErrorDetail,
  fieldsRefused,
  forbidden,
  type JsonSchema,
  NODE_ID_SCHEMA,
  nodeNotFound,
  nodeStateConflict,
  notFound,
  objectSchema,
  ok,
  plainAddress,
  type Request,
  type Route,
  rateLimited,
  recordSchema,
  route,
  type Tx,
} from '@steeple/contracts'
import type { PublishedWireguard } from '../members.ts'
import { isIn, parseCidr } from '../peers/cidr.ts'
import { parseHostPort } from '../peers/endpoint.ts'
import { HOST_PORT_PATTERN, PEM_SCHEMA } from '../shapes.ts'
import { createChanges } from './changes.ts'
import {
  MEMBER_SCHEMA,
  type MeshView,
  rootChanges,
  rootView,
  WIREGUARD_SCHEMA,
  wireguardFrom,
  wireguardRecord,
} from './member-record.ts'
import type { EnrollParts } from './parts.ts'
import type { SignedList } from './revocation-list.ts'
import { MEMBERS, membersNaming } from './store.ts'

/** A rotation of all keys of a large mesh is some dozens of changes of each member. */
const AT_ONCE = 60
/** One change more for each of these. */
const EACH_MS = 2_000

/**
 * How often each member may change what all the others then fetch: takes one change of that member. Seconds until there is one
 * again, when there is none now; undefined when it is taken.
 */
type Allowance = (nodeId: string) => number | undefined

/** By the clock that never goes back; for as many nodes as ask, since those are members. */
function changeAllowance(clock: Clock): Allowance {
  const usedUntil = new Map<string, number>()
  return (nodeId) => {
    const nowMs = clock.monotonicMs()
    const fromMs = Math.max(usedUntil.get(nodeId) ?? nowMs, nowMs)
    const overMs = fromMs + EACH_MS - nowMs - AT_ONCE * EACH_MS
    if (overMs > 0) return Math.ceil(overMs / 1_000)
    usedUntil.set(nodeId, fromMs + EACH_MS)
    return undefined
  }
}

/** A member's question waits so long for something new at most. */
const LONGEST_WAIT_S = 55

/** Of what is wrong with one request. */
const MOST_DETAILS = 20

interface Query {
  readonly after?: number
  readonly wait_s?: number
  readonly list?: string
  readonly after_crl?: number
}

/** What a member tells of itself. */
interface Told extends PublishedWireguard {
  readonly address?: string | null
}

const TOLD_SCHEMA: JsonSchema = {
  ...WIREGUARD_SCHEMA,
  properties: {
    ...(WIREGUARD_SCHEMA.properties as Readonly<Record<string, JsonSchema>>),
    address: {
      type: ['string', 'null'],
      pattern: HOST_PORT_PATTERN,
      description:
        'Where the API of the node answers, host:port; null: nowhere for others. As it was when absent.',
    },
  },
}

/** Of a large mesh nobody is answered more often: what comes in such a time goes out together. */
const LONGEST_TURN_MS = 2_000
const SHORTEST_TURN_MS = 50
/** What an answer to one member may take of the root. */
const TURN_MS_EACH = 3

/** Resolves at the end of the turn that runs, which all who wait share; a turn is as long as the mesh is large. */
function turns(membersNow: () => number): (signal: AbortSignal) => Promise<void> {
  const changes = createChanges()
  let isRunning = false
  return async (signal) => {
    if (!isRunning) {
      isRunning = true
      const lengthMs = Math.min(LONGEST_TURN_MS, Math.max(SHORTEST_TURN_MS, TURN_MS_EACH * membersNow()))
      setTimeout(() => {
        isRunning = false
        changes.tell()
      }, lengthMs).unref()
    }
    await changes.next(LONGEST_TURN_MS, signal)
  }
}

/** The routes that members ask of the root, and of each other. */
export function membersRoutes(parts: EnrollParts): readonly Route[] {
  const allowance = changeAllowance(parts.context.clock)
  return [membersRoute(parts, allowance), wireguardRoute(parts, allowance), crlRoute(parts), caRoute(parts)]
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' }

/** The texts of answers at one stamp of the list: all members of a turn ask after the same one, and each record is spelled once for them. */
function answerTexts(): (stamp: number, key: string, answer: () => object) => string {
  let known = new Map<string, string>()
  let at: number | undefined
  return (stamp, key, answer) => {
    if (at !== stamp) known = new Map()
    at = stamp
    const text = known.get(key) ?? JSON.stringify(answer())
    known.set(key, text)
    return text
  }
}

function membersRoute(parts: EnrollParts, allowance: Allowance): Route {
  const texts = answerTexts()
  const turn = turns(() => parts.memberList.members().length)
  return route<unknown, Query, unknown>({
    method: 'GET',
    path: '/v1/mesh/members',
    role: 'operator',
    nodeToo: true,
    summary: 'List the members of the mesh, and the revoked certificates',
    description:
      'All members at once. With after and wait_s, it answers when revision differs from after, or after wait_s ' +
      'seconds. With list as well, the root answers with what changed after that revision, if it still knows that: then ' +
      'since is that revision. In a large mesh an answer that waited comes at most every 2 s. A member answers with what ' +
      'it has heard last.',
    schema: {
      query: objectSchema({
        after: { type: 'integer', minimum: 0 },
        wait_s: { type: 'integer', minimum: 0, maximum: LONGEST_WAIT_S },
        list: {
          type: 'string',
          maxLength: 64,
          description: 'As list of an earlier answer: asks for changes alone.',
        },
        after_crl: {
          type: 'integer',
          minimum: 0,
          description: 'As crl_number of an earlier answer: crl_pem is null unless there is a newer one.',
        },
      }),
      response: recordSchema({
        mesh: recordSchema({ name: { type: 'string' }, root_node_id: NODE_ID_SCHEMA }),
        subnet: { type: 'string' },
        revision: { type: 'integer' },
        crl_number: { type: ['integer', 'null'] },
        crl_pem: { type: ['string', 'null'] },
        list: {
          type: ['string', 'null'],
          description: 'Which list the revision is of. Null: changes cannot be asked for here.',
        },
        since: {
          type: ['integer', 'null'],
          description: 'members are those that came or changed after this revision. Null: all of them.',
        },
        gone: { type: 'array', items: NODE_ID_SCHEMA, description: 'Who has left after since.' },
        members: { type: 'array', items: MEMBER_SCHEMA },
      }),
    },
    errors: ['node_state_conflict'],
    handle: async (request) => {
      await noteAddress(parts, request as never, allowance)
      const { after, wait_s = 0, after_crl } = request.query
      if (after !== undefined && wait_s > 0) {
        await untilNews(parts, after, wait_s * 1_000, request.signal, turn)
        refuseRevoked(parts, request as never)
      }
      const list = await listOf(parts)
      const isNew = list !== undefined && list.number !== after_crl
      const answer = (): object => ({
        ...newsOf(parts, request.query),
        crl_number: list?.number ?? null,
        crl_pem: isNew ? list.pem : null,
      })
      if (parts.identity.membership() !== undefined) return ok(answer())
      const since = request.query.list === parts.memberList.listId ? after : undefined
      const key = `${since ?? ''} ${list?.number ?? ''} ${isNew}`
      return { body: texts(parts.memberList.stamp(), key, answer), headers: JSON_HEADERS }
    },
  })
}

/** Waits until the revision is another, and then until the end of the turn. */
async function untilNews(
  parts: EnrollParts,
  after: number,
  waitMs: number,
  signal: AbortSignal,
  turn: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { identity, memberList, membershipState } = parts
  const isRoot = identity.membership() === undefined
  const { changes } = isRoot ? memberList : membershipState
  const revision = (): number => (isRoot ? memberList.revision() : viewOf(parts).revision)
  if (revision() === after) await changes.next(waitMs, signal)
  if (revision() !== after) await turn(signal)
}

/** What a question is answered with: what changed since, or everything. */
function newsOf(parts: EnrollParts, { after, list }: Query): object {
  const { identity, memberList } = parts
  if (identity.membership() !== undefined) return { ...viewOf(parts), list: null, since: null, gone: [] }
  const { listId } = memberList
  if (after === undefined || list !== listId)
    return { ...rootView(parts), list: listId, since: null, gone: [] }
  return { ...rootChanges(parts, after), list: listId, since: after }
}

function wireguardRoute(parts: EnrollParts, allowance: Allowance): Route {
  return route<{ readonly id: string }, unknown, Told>({
    method: 'PUT',
    path: '/v1/mesh/members/:id/wireguard',
    role: 'node',
    summary: 'Publish the WireGuard interface of a member to the others',
    description: 'A member, of itself. What it advertises nobody routes before it is approved.',
    example: {
      public_key: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
      listen_port: 51_820,
      advertised: ['10.45.0.0/16'],
    },
    schema: {
      params: recordSchema({ id: NODE_ID_SCHEMA }),
      body: TOLD_SCHEMA,
      response: recordSchema({ revision: { type: 'integer' } }),
    },
    audit: 'mesh.publish',
    errors: ['node_not_found', 'node_state_conflict', 'rate_limited'],
    handle: async (request) => {
      const { id } = request.params
      const { memberList, identity } = parts
      if (request.principal.kind !== 'node' || request.principal.id !== id)
        throw forbidden('node, for its own id')
      if (identity.membership() !== undefined)
        throw nodeStateConflict('this node is not the root; send this to the root')
      const { address, next_public_key = null, prepared = [], endpoint = null, ...rest } = request.body
      refuseUnsound(endpoint, rest)
      const whole = { ...rest, next_public_key, prepared, endpoint }
      const wireguard = JSON.stringify(wireguardRecord(whole))
      return await request.mutate(id, async (tx) => {
        const row = await MEMBERS.find(tx, { node_id: id })
        if (row === undefined || row.left_at_ms !== null) throw nodeNotFound(id)
        await refuseTaken(tx, id, [rest.public_key, next_public_key])
        const next = { ...row, wireguard, address: address === undefined ? row.address : address }
        if (row.wireguard !== wireguard || row.address !== next.address) {
          refuseTooMany(allowance, id)
          await memberList.change(tx, next)
        }
        tx.audit({ detail: { advertised: rest.advertised } })
        return { body: { revision: memberList.revision() } }
      })
    },
  })
}

/** What is no network and no endpoint is heard by all members: it goes no further. Throws `validation_failed`. */
function refuseUnsound(
  endpoint: string | null,
  { advertised, takes = [] }: Pick<PublishedWireguard, 'advertised' | 'takes'>,
): void {
  const details: ErrorDetail[] = []
  if (endpoint !== null && parseHostPort(endpoint) === undefined)
    details.push({ pointer: '/endpoint', message: 'must be host:port, IPv6 in brackets' })
  for (const [name, networks] of [
    ['advertised', advertised],
    ['takes', takes.map((text) => text.slice(text.indexOf(' ') + 1))],
  ] as const)
    for (const [at, text] of networks.entries())
      if (parseCidr(text) === undefined)
        details.push({ pointer: `/${name}/${at}`, message: 'must be a network such as 10.45.0.0/16' })
  if (details.length > 0) throw fieldsRefused(details.slice(0, MOST_DETAILS))
}

/** Each change makes every member fetch the list. Throws `rate_limited`. */
function refuseTooMany(allowance: Allowance, id: string): void {
  const retryAfterS = allowance(id)
  if (retryAfterS !== undefined)
    throw rateLimited(`this node changes what it tells too often; again in ${retryAfterS} s`, { retryAfterS })
}

/**
 * Who tells another one's key cuts that one off: WireGuard has each key once, for one peer. Throws `node_state_conflict`.
 */
async function refuseTaken(tx: Tx, id: string, keys: readonly (string | null)[]): Promise<void> {
  for (const key of keys)
    for (const { node_id, wireguard } of key === null ? [] : await membersNaming(tx, key)) {
      const told = node_id === id || wireguard === null ? undefined : wireguardFrom(wireguard)
      if (told?.public_key === key || told?.next_public_key === key)
        throw nodeStateConflict(
          `a key of these is that of the member ${node_id}; make others (svc peer rotate)`,
        )
    }
}

function crlRoute(parts: EnrollParts): Route {
  return route({
    method: 'GET',
    path: '/v1/mesh/crl',
    role: 'public',
    summary: 'Get the revoked certificates of the mesh, signed by its CA',
    description:
      'An X.509 CRL (RFC 5280), PEM; number grows from list to list. A member gives the newest one that it has. Its ' +
      'signature counts, not its sender.',
    conditional: true,
    schema: {
      response: recordSchema({ number: { type: 'integer' }, crl_pem: { type: 'string' } }),
    },
    errors: ['not_found'],
    handle: async () => {
      const list = await listOf(parts)
      if (list === undefined) throw notFound('revocation list that this node has heard of')
      return ok({ number: list.number, crl_pem: list.pem })
    },
  })
}

function caRoute(parts: EnrollParts): Route {
  return route({
    method: 'GET',
    path: '/v1/mesh/ca',
    role: 'public',
    summary: 'Get the CA of the mesh of this node',
    description:
      'Believed by nobody for itself: compare its SHA-256 with a bootstrap token or with the words of an invitation.',
    schema: { response: recordSchema({ ca_pem: PEM_SCHEMA }) },
    handle: async () => ok({ ca_pem: parts.identity.membership()?.caPem ?? parts.authority.caPem }),
  })
}

/** The mesh that this node is in, as far as it knows. */
function viewOf(parts: EnrollParts): MeshView {
  const membership = parts.identity.membership()
  if (membership === undefined) return rootView(parts)
  const known = parts.membershipState.view()
  if (known !== undefined) return known
  throw nodeStateConflict('this node has joined and has not heard of the other members yet; ask again soon')
}

async function listOf(parts: EnrollParts): Promise<SignedList | undefined> {
  return parts.identity.membership() === undefined
    ? await parts.revocations.current()
    : parts.membershipState.list()
}

/** Whoever waited may have been removed meanwhile: what it is told then is for members alone. */
function refuseRevoked({ memberList, identity }: EnrollParts, { principal }: Request): void {
  if (principal.kind !== 'node' || identity.membership() !== undefined) return
  const row = memberList.member(principal.id)
  if (row !== undefined && row.left_at_ms !== null) throw forbidden('node, which this one is no more')
}

/** Keeps from where a member comes: others reach its WireGuard there when it names no endpoint. */
async function noteAddress(parts: EnrollParts, request: Request, allowance: Allowance): Promise<void> {
  const { memberList, identity, context } = parts
  if (request.principal.kind !== 'node' || identity.membership() !== undefined) return
  const seen = plainAddress(request.peerAddress)
  // Asked through the mesh: its WireGuard is not reached there.
  if (isIn(context.config.subnet, seen)) return
  const row = memberList.member(request.principal.id)
  if (row === undefined || row.left_at_ms !== null || row.seen_address === seen) return
  // Its next question says it again.
  if (allowance(row.node_id) !== undefined) return
  await context.db.write(async (tx) => {
    const now = await MEMBERS.find(tx, { node_id: row.node_id })
    if (now !== undefined && now.left_at_ms === null)
      await memberList.change(tx, { ...now, seen_address: seen })
  })
}
