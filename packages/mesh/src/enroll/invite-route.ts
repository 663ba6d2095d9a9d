import {
  DURATION_PATTERN,
  fieldRefused,
  msFromDuration,
  NAME_PATTERN,
  NODE_ID_SCHEMA,
  nodeStateConflict,
  objectSchema,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import type { MemberRecord } from './member-record.ts'
import { ownAddress } from './own-names.ts'
import { type EnrollParts, membershipOf, ownMeshName, requireRoot } from './parts.ts'
import { wordsOf } from './words.ts'

/** Members that get an invitation at once; more are invited one by one. */
const MOST_INVITED = 200
const ANY = /^(?:0\.0\.0\.0|\[::\])?(?=:\d+$)/

interface Body {
  readonly name?: string
  readonly node_id?: string
  readonly expires_in?: string
}

/** `POST /v1/mesh/invite`: what another box needs to join, once. */
export function inviteRoute(parts: EnrollParts): Route {
  return route<unknown, unknown, Body>({
    method: 'POST',
    path: '/v1/mesh/invite',
    role: 'admin',
    summary: 'Invite another box into the mesh of this node',
    description:
      'The token is shown once, works once and lives as long as auth.bootstrap_token_ttl at most. It carries the beginning of ' +
      "the hash of this node's CA, by which the other box knows that it speaks to the right one; the words say the same to people.",
    example: { name: 'mast on the hill' },
    schema: {
      body: objectSchema({
        name: { type: 'string', minLength: 1, maxLength: 128, pattern: NAME_PATTERN },
        node_id: { ...NODE_ID_SCHEMA, description: 'No other node can use the token.' },
        expires_in: { type: 'string', pattern: DURATION_PATTERN, maxLength: 64 },
      }),
      response: recordSchema({
        id: { type: 'string', description: 'The id of the token, as DELETE /v1/tokens/{id} takes it.' },
        token: { type: 'string' },
        url: { type: 'string', description: 'Where to join, with the id of this node behind #.' },
        command: { type: 'string' },
        mesh: recordSchema({ name: { type: 'string' } }),
        ca_sha256: { type: 'string' },
        ca_words: { type: 'string', description: 'Twelve words of the BIP-39 list: 128 bits of the hash.' },
        expires_at: TIMESTAMP_SCHEMA,
      }),
      status: 201,
    },
    audit: 'mesh.invite',
    errors: ['node_state_conflict'],
    handle: async (request) => {
      const { context, authority, tokens } = parts
      requireRoot(parts, 'invite')
      refuseWithoutTls(context)
      const { name = 'invitation', node_id, expires_in } = request.body
      const livesMs = expires_in === undefined ? undefined : msFromDuration(expires_in)
      if (expires_in !== undefined && livesMs === undefined)
        throw fieldRefused('/expires_in', 'must be more than zero and at most 100y')
      const url = ownUrl(parts)
      const wanted = {
        name,
        ...(node_id === undefined ? {} : { nodeId: node_id }),
        ...(livesMs === undefined ? {} : { livesMs }),
      }
      return await request.mutate('mesh', async (tx) => {
        const { id, token, expiresAtMs } = await tokens.mint(tx, request.principal, wanted)
        tx.audit({ target: id, detail: { name } })
        tx.event({ type: 'mesh.invite', subject: id })
        const body = {
          id,
          token,
          url,
          command: joinCommand(token, url),
          mesh: { name: ownMeshName({ context, node: parts.node }) },
          ca_sha256: authority.caSha256,
          ca_words: wordsOf(authority.caSha256),
          expires_at: timestampFromMs(expiresAtMs),
        }
        return { status: 201, body, sealed: true }
      })
    },
  })
}

/** Where others reach this node: as configured, else the first address of the machine that is not its own alone. */
function ownUrl({ context, node }: Pick<EnrollParts, 'context' | 'node'>): string {
  const address = ownAddress(context) ?? context.settings.server.listen.replace(ANY, '127.0.0.1')
  return `${context.config.url || `https://${address}`}#${node.nodeId}`
}

/** What to give on the other box: what the shell itself writes is in no process list. */
function joinCommand(token: string, url: string, ...options: readonly string[]): string {
  return ['echo', token, '| svc node join -', url, ...options].join(' ')
}

/** Throws `node_state_conflict` where no box can join for want of TLS. */
function refuseWithoutTls({ settings }: Pick<EnrollParts['context'], 'settings'>): void {
  if (!settings.tls.enabled)
    throw nodeStateConflict('other boxes join over TLS alone; set tls.enabled and start again')
}

/** `POST /v1/mesh/take-root`. */
export function takeRootRoute(parts: EnrollParts, isRootAway: () => boolean): Route {
  return route<unknown, unknown, { readonly force?: boolean }>({
    method: 'POST',
    path: '/v1/mesh/take-root',
    role: 'admin',
    summary: 'Become the root instead of one that is lost',
    description:
      'For a root that is lost without a backup. This member leaves its mesh and becomes the root of a new one, with ' +
      'its own CA. The answer has an invitation for each other member, which keeps its address and its approvals. ' +
      'Refused while the root answers, unless forced.',
    schema: {
      body: objectSchema({ force: { type: 'boolean', default: false } }),
      response: recordSchema({
        mesh: recordSchema({ name: { type: 'string' } }),
        url: { type: 'string' },
        ca_words: { type: 'string' },
        expires_at: {
          ...TIMESTAMP_SCHEMA,
          type: ['string', 'null'],
          description: 'Null without other members.',
        },
        invitations: {
          type: 'array',
          items: recordSchema({
            node_id: NODE_ID_SCHEMA,
            name: { type: 'string' },
            command: { type: 'string', description: 'To be given on that box, once.' },
          }),
        },
      }),
      status: 201,
    },
    audit: 'mesh.take_root',
    errors: ['node_state_conflict'],
    handle: (request) => takeRoot(parts, request, isRootAway),
  })
}

async function takeRoot(
  parts: EnrollParts,
  request: Request<unknown, unknown, { readonly force?: boolean }>,
  isRootAway: () => boolean,
): Promise<Reply> {
  const { context, identity, membershipState, node, tokens, authority } = parts
  const before = membershipOf(parts)
  refuseWithoutTls(context)
  if (!isRootAway() && request.body.force !== true)
    throw nodeStateConflict(
      `the root answers at ${before.rootUrl}; with two roots a mesh falls apart. Once that one is gone for good, ask again or with force`,
    )
  const others = (membershipState.view()?.members ?? []).filter(
    ({ node_id, is_root }) => node_id !== node.nodeId && !is_root,
  )
  // The file first, and then the trail: killed between them it is the root, and invites the others one by one.
  await identity.forget()
  await membershipState.clear()
  return await request.mutate(node.nodeId, async (tx) => {
    const invite = async ({ node_id, name }: MemberRecord) => {
      const wanted = { name: `take-root ${name}`, nodeId: node_id }
      const { token, expiresAtMs } = await tokens.mint(tx, request.principal, wanted)
      return { expiresAtMs, shown: { node_id, name, command: joinCommand(token, ownUrl(parts), '--leave') } }
    }
    const made: Awaited<ReturnType<typeof invite>>[] = []
    for (const other of others.slice(0, MOST_INVITED)) made.push(await invite(other))
    tx.audit({ detail: { mesh: before.meshName, root: before.rootNodeId, invited: made.length } })
    tx.event({ type: 'mesh.take_root', subject: node.nodeId, data: { mesh: before.meshName } })
    const [first] = made
    const body = {
      mesh: { name: ownMeshName(parts) },
      url: ownUrl(parts),
      ca_words: wordsOf(authority.caSha256),
      expires_at: first === undefined ? null : timestampFromMs(first.expiresAtMs),
      invitations: made.map(({ shown }) => shown),
    }
    return { status: 201, body, sealed: true }
  })
}
