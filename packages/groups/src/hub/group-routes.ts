import {
  type ErrorDetail,
  expandRoles,
  isServiceError,
  type JsonSchema,
  type MutationTx,
  NODE_ID_SCHEMA,
  notFound,
  type OwnQuestion,
  type OwnRoutes,
  objectSchema,
  ok,
  ownRoutesRef,
  type Principal,
  pageFrom,
  pageSchema,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'
import { boxesOf, type Parts, requireHub } from '../context.ts'
import { MOST_CHARACTERS } from '../document.ts'
import {
  GIVEN_ROLES,
  PARTS,
  type PartName,
  STATE_SCHEMA,
  type State,
  unsteerable,
  type Values,
} from '../state.ts'
import { HOW } from '../steps.ts'
import { GROUPS, type GroupRow, groupsInOrder, INVITED, type InvitedRow, invitedTo } from '../store.ts'
import { contentFor, issue, type Members, membersOf, stateOf, tokensOf } from './plan.ts'

/** And no key, token or IMSI that somebody pasted: the audit trail keeps the name. */
export const NAME: JsonSchema = {
  type: 'string',
  pattern: '^(?!.*[0-9]{14}|.*[0-9a-f]{32})[a-z0-9][a-z0-9_-]{0,63}$',
}
const MOST_GROUPS = 200
const REHEARSAL_MS = 10_000
const MEMBERS: JsonSchema = objectSchema({
  all: { type: 'boolean', description: 'Each box of the mesh but the hub, also those that join later.' },
  nodes: { type: 'array', maxItems: 2_000, uniqueItems: true, items: NODE_ID_SCHEMA },
})
const RANK: JsonSchema = {
  type: 'integer',
  minimum: 0,
  maximum: 1_000,
  description: 'Of groups of one box a higher rank has the last word, then the later name. 0 when absent.',
}
const GROUP: JsonSchema = recordSchema({
  name: { type: 'string' },
  rank: RANK,
  members: recordSchema({ all: { type: 'boolean' }, nodes: { type: 'array', items: NODE_ID_SCHEMA } }),
  boxes: { type: 'integer', description: 'How many boxes it has now.' },
  state: STATE_SCHEMA,
  invitations: {
    type: 'array',
    description: 'Who is invited to its boxes and until when. Whether they have come, each box knows.',
    items: recordSchema({
      name: { type: 'string' },
      roles: GIVEN_ROLES,
      expires_at: TIMESTAMP_SCHEMA,
      boxes: { type: 'integer' },
    }),
  },
  updated_at: TIMESTAMP_SCHEMA,
  updated_by: { type: 'string' },
})
const NAMED: JsonSchema = recordSchema({ name: NAME })

interface Body {
  readonly members: Partial<Members>
  readonly state: State
  readonly rank?: number
}

/** `/v1/groups` */
export function groupRoutes(parts: Parts): readonly Route[] {
  return [listRoute(parts), showRoute(parts), setRoute(parts), removeRoute(parts)]
}

function listRoute(parts: Parts): Route {
  return route({
    method: 'GET',
    path: '/v1/groups',
    role: 'operator',
    summary: 'List the groups of boxes and what they are to have',
    description: 'By name. GET /v1/desired-state says how each box stands to it.',
    schema: { response: pageSchema('groups', GROUP) },
    paged: true,
    handle: async (request) => {
      const page = request.page()
      const after = String(page.after?.[0] ?? '')
      const rows = (await GROUPS.select(parts.context.db, 'order by name')).filter(({ name }) => name > after)
      const boxes = (await boxesOf(parts)).map(({ nodeId }) => nodeId)
      const record = async (row: GroupRow): Promise<object> =>
        recordOf(row, boxes, await invitedTo(parts.context.db, row.name))
      return ok(await pageFrom(page, 'groups', rows, record, ({ name }) => [name]))
    },
  })
}

function showRoute(parts: Parts): Route {
  return route<{ readonly name: string }, unknown, unknown>({
    method: 'GET',
    path: '/v1/groups/:name',
    role: 'operator',
    summary: 'Show a group of boxes',
    description: 'Its members, its rank among other groups, and what they are to have.',
    schema: { params: NAMED, response: GROUP },
    errors: ['not_found'],
    handle: async ({ params: { name } }) => {
      const row = await GROUPS.find(parts.context.db, { name })
      if (row === undefined) throw notFound(`group ${name}`)
      const boxes = (await boxesOf(parts)).map(({ nodeId }) => nodeId)
      return ok(recordOf(row, boxes, await invitedTo(parts.context.db, name)))
    },
  })
}

function setRoute(parts: Parts): Route {
  const { context } = parts
  return route<{ readonly name: string }, unknown, Body>({
    method: 'PUT',
    path: '/v1/groups/:name',
    role: 'admin',
    summary: 'Set what a group of boxes is to have',
    description:
      'Each box hears of it with its next heartbeat, and applies the parts that its own admin permits. What is particular to a ' +
      'box stays its own: country, licence, allow-list, and whether it transmits. GET /v1/desired-state shows what became of it.',
    example: { members: { all: true }, state: { policy: { sim_swap_cooldown_hours: 48 } } },
    schema: {
      params: NAMED,
      body: objectSchema({ members: MEMBERS, state: STATE_SCHEMA, rank: RANK }, ['members', 'state']),
      response: GROUP,
    },
    audit: 'groups.set',
    errors: ['validation_failed', 'node_state_conflict'],
    handle: async (request) => {
      requireHub(parts)
      const { name } = request.params
      const { members, state, rank = 0 } = request.body
      const own: Members = { all: members.all ?? false, nodes: members.nodes ?? [] }
      await check(parts, state)
      const others = await boxesOf(parts)
      const boxes = others.map(({ nodeId }) => nodeId)
      return await request.mutate(name, async (tx) => {
        const row: GroupRow = {
          ...{ name, rank, members: JSON.stringify(own), state: JSON.stringify(state) },
          updated_at_ms: context.clock.nowMs(),
          updated_by: byText(request.principal),
        }
        await refuseTooMuch(tx, row, boxes)
        await GROUPS.put(tx, row)
        tx.audit({ detail: { rank, all: own.all, nodes: own.nodes.length, parts: Object.keys(state) } })
        await issue(parts, tx, others)
        return { body: recordOf(row, boxes, await invitedTo(tx, name)) }
      })
    },
  })
}

function removeRoute(parts: Parts): Route {
  return route<{ readonly name: string }, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/groups/:name',
    role: 'admin',
    summary: 'Remove a group; its boxes stay as they are',
    description:
      'What it has set stays on each box until somebody there changes it. Its invitations are withdrawn.',
    schema: { params: NAMED, status: 204 },
    audit: 'groups.remove',
    errors: ['not_found'],
    handle: async (request) => {
      const others = await boxesOf(parts)
      const { name } = request.params
      return await request.mutate(name, async (tx) => {
        if ((await GROUPS.find(tx, { name })) === undefined) throw notFound(`group ${name}`)
        await GROUPS.remove(tx, { name })
        // A door that stands open is no state that a box keeps. The rows go when they would have expired.
        for (const row of await invitedTo(tx, name))
          await INVITED.put(tx, { ...row, withdrawn_at_ms: parts.context.clock.nowMs() })
        await issue(parts, tx, others)
        return { status: 204 }
      })
    },
  })
}

function byText({ kind, id, name }: Principal): string {
  return name === id ? `${kind}:${id}` : `${kind}:${id}/${name}`
}

/** Holds a state to the schemas of the routes that would take it here. Throws `validation_failed`. */
async function check({ context }: Parts, state: State): Promise<void> {
  const details = [...unsteerable(state), ...madeElsewhere(state)].map(({ pointer, message }) => ({
    pointer: `/state${pointer}`,
    message,
  }))
  const [first] = details
  if (first !== undefined) throw validationFailed(`${first.pointer} ${first.message}`, { details })
  for (const part of PARTS) {
    const desired = state[part]
    // Of people and plugins only the box knows who is there.
    if (desired !== undefined && part !== 'users' && part !== 'plugins')
      await checkPart(context.use(ownRoutesRef), part, desired)
  }
}

function madeElsewhere({ invitations }: State): readonly ErrorDetail[] {
  const message = 'is made by POST /v1/groups/{name}/invitations, which shows the tokens'
  return invitations === undefined ? [] : [{ pointer: '/invitations', message }]
}

async function checkPart(own: OwnRoutes, part: PartName, desired: Values): Promise<void> {
  for (const step of HOW[part].steps(desired, {}, {}, 0)) {
    if (!('question' in step)) continue
    const at = `/state${step.pointer === '' ? `/${part}` : step.pointer}`
    await taken(() => own.check(step.question), at)
    if (part === 'alert_rules') await taken(() => rehearse(own, step.question), at)
  }
}

/** The configuration as a whole says what its keys take. */
async function rehearse(own: OwnRoutes, question: OwnQuestion): Promise<void> {
  const admin: Principal = { kind: 'system', id: 'groups', name: 'groups', roles: expandRoles(['admin']) }
  await own.ask(admin, { ...question, query: { dry_run: 'true' } }, AbortSignal.timeout(REHEARSAL_MS))
}

/** What a route of this box refuses is refused; what it has no route for only other boxes can know. */
async function taken(work: () => Promise<unknown>, at: string): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isServiceError(error) || error.status >= 500) throw error
    if (error.status !== 400) return
    const details = (error.details ?? []).map(({ pointer, message }) => ({
      pointer: `${at}${pointer}`,
      message,
    }))
    throw validationFailed(`${at}: ${error.message}`, { details })
  }
}

async function refuseTooMuch(tx: MutationTx, row: GroupRow, boxes: readonly string[]): Promise<void> {
  const others = (await groupsInOrder(tx)).filter(({ name }) => name !== row.name)
  if (others.length >= MOST_GROUPS)
    throw validationFailed(`there are ${MOST_GROUPS} groups already; remove one first`)
  const all = [...others, row].toSorted((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))
  for (const node of boxes) {
    if (JSON.stringify(contentFor(node, all, [])).length > MOST_CHARACTERS / 2)
      throw validationFailed('the state of one box would be larger than 128 KiB; make it smaller')
  }
}

function recordOf(row: GroupRow, boxes: readonly string[], invited: readonly InvitedRow[]): object {
  const members = membersOf(row)
  return {
    name: row.name,
    rank: row.rank,
    members,
    boxes: members.all ? boxes.length : boxes.filter((id) => members.nodes.includes(id)).length,
    state: stateOf(row),
    invitations: invited
      .filter(({ withdrawn_at_ms }) => withdrawn_at_ms === 0)
      .map(({ name, roles, expires_at_ms, tokens }) => ({
        name,
        // Written by the route, from its schema.
        roles: JSON.parse(roles),
        expires_at: timestampFromMs(expires_at_ms),
        boxes: Object.keys(tokensOf({ tokens })).length,
      })),
    updated_at: timestampFromMs(row.updated_at_ms),
    updated_by: row.updated_by,
  }
}
