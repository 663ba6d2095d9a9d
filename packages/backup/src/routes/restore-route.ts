import {
  backupInvalid,
  bodyTooLarge,
  type JsonSchema,
  nodeStateRef,
  objectSchema,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  type StagedFindings,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { readState } from '../archive-process.ts'
import type { BackupParts } from '../parts.ts'
import { PASSPHRASE_HEADER, passphraseOf } from '../passphrase.ts'

interface RestoreQuery {
  readonly dry_run?: boolean
  readonly adopt?: boolean
}
type RestoreRequest = Request<unknown, RestoreQuery, AsyncIterable<Uint8Array> | undefined>

const COUNTS: JsonSchema = { type: 'object', additionalProperties: { type: 'integer' } }
const RESPONSE: JsonSchema = recordSchema({
  restored_from: { type: 'string', description: 'Id of the node that the backup is of.' },
  node_name: { type: 'string' },
  created_at: TIMESTAMP_SCHEMA,
  version: { type: 'string', description: 'Version of the service that took it.' },
  schema: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'The newest migration of each owner of tables in it.',
  },
  counts: { ...COUNTS, description: 'Rows of each table in it.' },
  present: { ...COUNTS, description: 'Rows of each table of this node now.' },
  closed: {
    ...COUNTS,
    description:
      'Things for one use that may have been used since the backup, by kind. They do not work until they are reopened ' +
      '(POST /v1/restore/reopen).',
  },
  with_keys: { type: 'boolean' },
  dry_run: { type: 'boolean' },
  kept_in: {
    type: ['string', 'null'],
    description: 'Where what was before is kept; null after a dry run.',
  },
})
const QUERY: JsonSchema = objectSchema({
  dry_run: { type: 'boolean', description: 'Check everything and change nothing.' },
  adopt: { type: 'boolean', description: 'Take a backup of another node too: this node becomes that one.' },
})

/** `POST /v1/restore` */
export function restoreRoute(parts: BackupParts): Route {
  return route<unknown, RestoreQuery, AsyncIterable<Uint8Array> | undefined>({
    method: 'POST',
    path: '/v1/restore',
    role: 'admin',
    summary: 'Restore a backup of this node',
    description:
      `An encrypted backup needs its passphrase in ${PASSPHRASE_HEADER}. Everything is checked before anything changes: ` +
      'each byte, the store, its audit trail, keys and versions. Then the service starts with the restored data. All ' +
      'sessions have ended, TX is disarmed, and things for one use are closed. The core is brought to what the store ' +
      'says. The data before stay in `restore-<time>` of the data directory. A backup of another node, or a wrong one, ' +
      'gives 400, and nothing has changed.',
    consumes: ['application/octet-stream', 'application/gzip', 'application/x-gzip'],
    // The setting can change while the service runs: see `bounded`.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    schema: { query: QUERY, response: RESPONSE },
    errors: [
      'validation_failed',
      'backup_invalid',
      'backup_decrypt_failed',
      'backup_version_unsupported',
      'body_too_large',
      'store_unavailable',
    ],
    audit: 'backup.restore',
    handle: (request) => restore(parts, request),
  })
}

async function restore({ context }: BackupParts, request: RestoreRequest): Promise<Reply> {
  const passphrase = passphraseOf(request.header(PASSPHRASE_HEADER))
  const { dry_run: isDryRun = false, adopt: isAdopting = false } = request.query
  const limit = context.settings.server.max_restore_bytes
  if (Number(request.header('content-length') ?? 0) > limit) throw bodyTooLarge(limit)
  if (request.body === undefined) throw backupInvalid('the body is empty; send the file')
  const staged = await context.use(nodeStateRef).stage()
  let isDecided = false
  try {
    const { facts } = await readState(bounded(request.body, limit), passphrase, request.signal, staged)
    const order = { principal: request.principal, requestId: request.id, isAdopting, signal: request.signal }
    const findings = await staged.check(facts, order)
    if (isDryRun) return { body: answerOf(findings, null) }
    isDecided = true
    return await request.mutate(facts.nodeId, async (tx) => {
      tx.audit({
        detail: { taken_at: timestampFromMs(facts.takenAtMs), with_keys: facts.hasKeys, adopt: isAdopting },
      })
      return { body: answerOf(findings, await staged.commit()) }
    })
  } catch (error) {
    if (isDryRun || isDecided) throw error
    // The attempt is in the audit trail as a failed one.
    return await request.mutate('restore', async () => {
      throw error
    })
  } finally {
    await staged.discard()
  }
}

async function* bounded(body: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > limit) throw bodyTooLarge(limit)
    yield chunk
  }
}

function answerOf({ facts, present, closed }: StagedFindings, keptIn: string | null): object {
  return {
    restored_from: facts.nodeId,
    node_name: facts.nodeName,
    created_at: timestampFromMs(facts.takenAtMs),
    version: facts.version,
    schema: facts.schema,
    counts: facts.counts,
    present,
    closed,
    with_keys: facts.hasKeys,
    dry_run: keptIn === null,
    kept_in: keptIn,
  }
}
