import {
  DURATION_PATTERN,
  msFromDuration,
  NAME_PATTERN,
  nodeStateConflict,
  objectSchema,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'
import { NODE_ID_SCHEMA } from '../shapes.ts'
import { ownAddress } from './own-address.ts'
import { type EnrollParts, ownMeshName } from './parts.ts'
import { wordsOf } from './words.ts'

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
      refuseUnlessReady(parts)
      const { name = 'invitation', node_id, expires_in } = request.body
      const livesMs = expires_in === undefined ? undefined : lifeFrom(expires_in)
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
export function ownUrl({ context, node }: Pick<EnrollParts, 'context' | 'node'>): string {
  const address = ownAddress(context) ?? context.settings.server.listen.replace(ANY, '127.0.0.1')
  return `${context.config.url || `https://${address}`}#${node.nodeId}`
}

/** What to give on the other box: what the shell itself writes is in no process list. */
export function joinCommand(token: string, url: string, ...options: readonly string[]): string {
  return ['echo', token, '| svc node join -', url, ...options].join(' ')
}

/** Throws `node_state_conflict` where no box can join for want of TLS. */
export function refuseWithoutTls({ settings }: Pick<EnrollParts['context'], 'settings'>): void {
  if (!settings.tls.enabled)
    throw nodeStateConflict('other boxes join over TLS alone; set tls.enabled and start again')
}

function refuseUnlessReady({ context, identity }: EnrollParts): void {
  if (!context.config.enabled) throw nodeStateConflict('this node takes part in no mesh; set peering.enabled')
  const membership = identity.membership()
  if (membership !== undefined)
    throw nodeStateConflict(
      `this node is itself a member of the mesh ${membership.meshName}; invite at its root, ${membership.rootUrl}`,
    )
  refuseWithoutTls(context)
}

function lifeFrom(text: string): number {
  const ms = msFromDuration(text)
  if (ms !== undefined) return ms
  const message = 'must be more than zero and at most 100y'
  throw validationFailed(`/expires_in ${message}`, { details: [{ pointer: '/expires_in', message }] })
}
