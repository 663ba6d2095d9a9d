import { hash, randomBytes } from 'node:crypto'
import {
  DURATION_PATTERN,
  fieldRefused,
  type JsonSchema,
  type MutationTx,
  msFromDuration,
  NODE_ID_SCHEMA,
  nodeStateConflict,
  notFound,
  objectSchema,
  ownRoutesRef,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'
import { boxesOf, type Parts, requireHub } from '../context.ts'
import { GIVEN_ROLES, personKey } from '../state.ts'
import { GROUPS, INVITED, type InvitedRow, invitedTo } from '../store.ts'
import { NAME } from './group-routes.ts'
import { isIn, issue, membersOf } from './plan.ts'

const DEFAULT_LIFE = '7d'
const MOST_MS = 30 * 86_400_000
/** Of all groups, also withdrawn ones until they would have expired: a document and its schema have room for them beside a whole state. */
const MOST_INVITATIONS = 400
const PERSON: JsonSchema = { type: 'string', minLength: 1, maxLength: 64 }
const INVITED_SCHEMA: JsonSchema = recordSchema({
  name: PERSON,
  roles: GIVEN_ROLES,
  expires_at: TIMESTAMP_SCHEMA,
  boxes: {
    type: 'array',
    items: recordSchema({
      node_id: NODE_ID_SCHEMA,
      name: { type: 'string' },
      token: {
        type: 'string',
        description: 'What accepts the invitation on this box, once. Shown here and never again.',
      },
    }),
  },
})

interface Wish {
  readonly name: string
  readonly roles: readonly string[]
  readonly expires_in?: string
}

/** `/v1/groups/{name}/invitations` */
export function invitationRoutes(parts: Parts): readonly Route[] {
  return [inviteRoute(parts), withdrawRoute(parts)]
}

function inviteRoute(parts: Parts): Route {
  const { context } = parts
  return route<{ readonly name: string }, unknown, Wish>({
    method: 'POST',
    path: '/v1/groups/:name/invitations',
    role: 'admin',
    summary: 'Invite a new person to each box of a group',
    description:
      `Each box gets a token of its own, good once, for ${DEFAULT_LIFE} unless expires_in says otherwise (at most 30d). The hub ` +
      'keeps and sends hashes alone, and a box takes its own where its admin permits invitations. As a link: the address of ' +
      'the box, /v1/auth/invitation# and its token. Inviting somebody again replaces the tokens.',
    example: { name: 'grace', roles: ['operator'], expires_in: '3d' },
    schema: {
      params: recordSchema({ name: NAME }),
      body: objectSchema(
        {
          name: PERSON,
          roles: GIVEN_ROLES,
          expires_in: { type: 'string', pattern: DURATION_PATTERN, maxLength: 64 },
        },
        ['name', 'roles'],
      ),
      response: INVITED_SCHEMA,
      status: 201,
    },
    audit: 'groups.invite',
    errors: ['validation_failed', 'not_found', 'node_state_conflict'],
    handle: async (request) => {
      requireHub(parts)
      const { name: person, roles, expires_in = DEFAULT_LIFE } = request.body
      const livesMs = msFromDuration(expires_in)
      if (livesMs === undefined || livesMs > MOST_MS)
        throw fieldRefused('/expires_in', 'must be more than zero and at most 30d')
      // What makes a person's name is said where people are.
      const wish = { name: person, roles, expires_in }
      await context.use(ownRoutesRef).check({ method: 'POST', path: '/v1/users/invitations', body: wish })
      const others = await boxesOf(parts)
      const { name } = request.params
      return await request.mutate(name, async (tx) => {
        const group = await GROUPS.find(tx, { name })
        if (group === undefined) throw notFound(`group ${name}`)
        const members = membersOf(group)
        const boxes = others
          .filter(({ nodeId }) => isIn(members, nodeId))
          .map(({ nodeId, name: box }) => ({ node_id: nodeId, name: box, token: drawn() }))
        if (boxes.length === 0)
          throw nodeStateConflict(
            `group ${name} has no boxes now, so nobody would be invited; set its members`,
          )
        const row: InvitedRow = {
          ...{ group_name: name, name: person, roles: JSON.stringify(roles), withdrawn_at_ms: 0 },
          tokens: JSON.stringify(
            Object.fromEntries(boxes.map(({ node_id, token }) => [node_id, hash('sha256', token)])),
          ),
          expires_at_ms: context.clock.nowMs() + livesMs,
        }
        await keep(tx, row)
        await issue(parts, tx, others)
        tx.audit({ detail: { person, roles, boxes: boxes.length } })
        const expires_at = timestampFromMs(row.expires_at_ms)
        return { status: 201, body: { name: person, roles, expires_at, boxes }, sealed: true }
      })
    },
  })
}

/** In place of those of the same person. Throws `validation_failed` when there are too many. */
async function keep(tx: MutationTx, row: InvitedRow): Promise<void> {
  const { group_name, name } = row
  for (const { name: spelt } of await invitedTo(tx, group_name))
    if (personKey(spelt) === personKey(name)) await INVITED.remove(tx, { group_name, name: spelt })
  await INVITED.put(tx, row)
  if ((await INVITED.select(tx, '')).length > MOST_INVITATIONS)
    throw validationFailed(`there are ${MOST_INVITATIONS} invitations already; wait until some expire`)
}

/** As the box draws those of its own. */
function drawn(): string {
  return `svci_${randomBytes(32).toString('base64url')}`
}

function withdrawRoute(parts: Parts): Route {
  const { context } = parts
  return route<{ readonly name: string; readonly person: string }, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/groups/:name/invitations/:person',
    role: 'admin',
    summary: 'Withdraw the invitation of a person to the boxes of a group',
    description: 'Boxes that have it end it when they hear of it. Whoever has accepted stays on that box.',
    schema: { params: recordSchema({ name: NAME, person: PERSON }), status: 204 },
    audit: 'groups.uninvite',
    errors: ['not_found'],
    handle: async (request) => {
      const { name, person } = request.params
      const others = await boxesOf(parts)
      return await request.mutate(name, async (tx) => {
        const row = (await invitedTo(tx, name)).find((one) => personKey(one.name) === personKey(person))
        if (row?.withdrawn_at_ms !== 0) throw notFound(`invitation of ${person} to group ${name}`)
        await INVITED.put(tx, { ...row, withdrawn_at_ms: context.clock.nowMs() })
        await issue(parts, tx, others)
        tx.audit({ detail: { person } })
        return { status: 204 }
      })
    },
  })
}
