import {
  capacityExceeded,
  defineError,
  type ErrorDetail,
  type ErrorFactory,
  type JsonSchema,
  type MutationTx,
  objectSchema,
  ok,
  type Reader,
  type Route,
  recordSchema,
  route,
  type Vault,
  validationFailed,
} from '@steeple/contracts'
import { type AlertParts, WEBHOOK_RESOURCE } from '../parts.ts'
import {
  FIELD_SCHEMAS,
  FIELDS,
  isEncrypted,
  KINDS,
  type Kind,
  partsOf,
  serverOf,
  type Values,
} from '../receivers/kinds.ts'
import type { Severity } from '../rules/rule.ts'
import { backlogs, forgetTarget } from '../store/delivery-store.ts'
import { allReceivers, MOST_RECEIVERS, RECEIVERS, type ReceiverRow } from '../store/receiver-store.ts'
import { untakenBy } from '../webhooks/health.ts'
import { refuseUseless } from '../webhooks/judge.ts'
import { isSigningSecret, SIGNING_SECRET } from '../webhooks/secret-file.ts'
import { opened, sealOf, storedTarget, type Target } from '../webhooks/target.ts'
import { TEST_SCHEMA, type TestBody, testOf, UNTAKEN } from './webhook-routes.ts'

interface NameParams {
  readonly name: string
}
interface Common {
  readonly min_severity?: Severity
  readonly resolved?: boolean
  readonly allow_private?: boolean
  readonly link?: string
}
type ChangeBody = Common & Values
type AddBody = ChangeBody & NameParams & { readonly kind: Kind }

const TEXT: JsonSchema = { type: 'string' }
/** No IMSI and no key that is pasted in its place: a name gets into the audit trail. */
const NAME: JsonSchema = {
  type: 'string',
  pattern: '^(?!\\d{6,}$|[0-9a-f]{32,}$)[a-z0-9][a-z0-9._-]{0,63}$',
  description: 'Small letters, digits, ".", "_" and "-", 64 at most.',
}
const PARAMS = recordSchema({ name: NAME })
const COMMON: Readonly<Record<string, JsonSchema>> = {
  min_severity: {
    type: 'string',
    enum: ['info', 'warning', 'critical'],
    description: 'Alerts below it are not sent to it; warning when absent.',
  },
  resolved: {
    type: 'boolean',
    description: 'Whether it is also told that an alert is over; true when absent.',
  },
  allow_private: {
    type: 'boolean',
    description: 'It may have an address of this machine or of a private network, and needs no TLS there.',
  },
  link: {
    type: 'string',
    pattern: '^https?://[^/?#@\\s]+/?$',
    maxLength: 300,
    description: 'Where people open the console of this box; messages then have a link to it.',
  },
}
const receiverNotFound: ErrorFactory = defineError(
  'receiver_not_found',
  404,
  'there is no receiver %s; svc alert receiver list shows them',
)
const receiverExists: ErrorFactory = defineError(
  'receiver_exists',
  409,
  'there is a receiver %s already; choose another name',
)
const receiverOfFile: ErrorFactory = defineError(
  'receiver_of_file',
  409,
  'the receiver %s is in the configuration file (alerts.webhooks); change it there and reload',
)
const RECEIVER_SCHEMA = recordSchema({
  name: TEXT,
  kind: { ...TEXT, description: `${KINDS.join(', ')}; more may come.` },
  source: { ...TEXT, description: 'file: of alerts.webhooks. store: added here.' },
  server: { ...TEXT, description: 'Where messages go: the host.' },
  min_severity: TEXT,
  resolved: { type: 'boolean' },
  allow_private: { type: 'boolean' },
  link: { type: ['string', 'null'] },
  settings: {
    type: ['object', 'null'],
    additionalProperties: { type: ['string', 'integer'] },
    description:
      'The other fields of its kind, without secrets. Shown to admins, of receivers that were added here.',
  },
  ...UNTAKEN,
})
const ERRORS = ['validation_failed', 'store_corrupt'] as const

/** The receivers of alerts: those of the file, and those that are added, changed and removed here. */
export function receiverRoutes(parts: AlertParts, vault: Vault): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/alerts/receivers',
      role: 'viewer',
      summary: 'List who is told of alerts, and the messages that they have not taken yet',
      description: 'Those of the configuration file come first. Secrets are never shown.',
      schema: {
        response: recordSchema({
          enabled: { type: 'boolean', description: 'Whether rules are looked at (alerts.enabled).' },
          receivers: { type: 'array', items: RECEIVER_SCHEMA },
        }),
      },
      handle: async ({ principal }) =>
        ok({
          enabled: parts.context.config.enabled,
          receivers: await recordsOf(parts, await parts.targets(), principal.roles.has('admin')),
        }),
    }),
    addRoute(parts, vault),
    changeRoute(parts, vault),
    removeRoute(parts),
    route<NameParams, unknown, TestBody>({
      method: 'POST',
      path: '/v1/alerts/receivers/:name/test',
      role: 'operator',
      summary: 'Send a message of type alert.test to one receiver, once',
      description:
        'The answer says whether it was taken, and what the receiver said otherwise. With resend, messages that were parked are sent again when it was.',
      schema: {
        params: PARAMS,
        body: objectSchema({ resend: { type: 'boolean' } }),
        response: TEST_SCHEMA,
      },
      errors: ['receiver_not_found'],
      audit: { none: 'It changes nothing of the service: one message goes where alerts go.' },
      handle: async ({ params: { name }, body, signal }) => {
        const target = (await parts.targets()).find((one) => one.name === name)
        if (target === undefined) throw receiverNotFound(name)
        return ok(await testOf(parts, target, body, signal))
      },
    }),
  ]
}

function addRoute(parts: AlertParts, vault: Vault): Route {
  return route<unknown, unknown, AddBody>({
    method: 'POST',
    path: '/v1/alerts/receivers',
    role: 'admin',
    summary: 'Add a receiver of alerts',
    description: 'Each kind has fields of its own. What is secret is sealed and never shown again.',
    example: { name: 'maria', kind: 'telegram', chat: '123456789', token: '123456:example-token' },
    schema: {
      body: objectSchema(
        { name: NAME, kind: { type: 'string', enum: [...KINDS] }, ...COMMON, ...FIELD_SCHEMAS },
        ['name', 'kind'],
      ),
      response: RECEIVER_SCHEMA,
      status: 201,
    },
    errors: [...ERRORS, 'receiver_exists', 'capacity_exceeded'],
    audit: 'alert.receiver.add',
    handle: async (request) => {
      const { name, kind, ...given } = request.body
      const row = await rowOf(vault, name, kind, given)
      return await request.mutate(name, async (tx) => {
        const db = parts.context.db.join(tx)
        if ((await parts.targets(db)).some((one) => one.name === name)) throw receiverExists(name)
        if ((await allReceivers(db)).length >= MOST_RECEIVERS)
          throw capacityExceeded(`there are ${MOST_RECEIVERS} receivers already; remove one`)
        await RECEIVERS.insert(db, row)
        return { status: 201, body: await written(parts, tx, row, vault) }
      })
    },
  })
}

function changeRoute(parts: AlertParts, vault: Vault): Route {
  return route<NameParams, unknown, ChangeBody>({
    method: 'PUT',
    path: '/v1/alerts/receivers/:name',
    role: 'admin',
    summary: 'Change a receiver of alerts',
    description:
      'Replaces all its fields but secrets that are absent: they stay, unless it is to send to another server.',
    example: { chat: '123456789', min_severity: 'critical' },
    schema: {
      params: PARAMS,
      body: objectSchema({ ...COMMON, ...FIELD_SCHEMAS }),
      response: RECEIVER_SCHEMA,
    },
    errors: [...ERRORS, 'receiver_not_found', 'receiver_of_file'],
    audit: 'alert.receiver.change',
    handle: async (request) => {
      const { name } = request.params
      return await request.mutate(name, async (tx) => {
        const db = parts.context.db.join(tx)
        const before = await addedRow(parts, db, name)
        const kind = KINDS.find((one) => one === before.kind)
        if (kind === undefined) throw receiverNotFound(name)
        const row = await rowOf(vault, name, kind, request.body, before)
        await RECEIVERS.put(db, row)
        return { body: await written(parts, tx, row, vault) }
      })
    },
  })
}

function removeRoute(parts: AlertParts): Route {
  return route<NameParams, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/alerts/receivers/:name',
    role: 'admin',
    summary: 'Remove a receiver of alerts',
    description: 'Messages that it has not taken are forgotten.',
    schema: { params: PARAMS, status: 204 },
    errors: ['receiver_not_found', 'receiver_of_file', 'store_corrupt'],
    audit: 'alert.receiver.remove',
    handle: async (request) => {
      const { name } = request.params
      return await request.mutate(name, async (tx) => {
        const db = parts.context.db.join(tx)
        const { kind } = await addedRow(parts, db, name)
        await RECEIVERS.remove(db, { name })
        await forgetTarget(db, name)
        tx.audit({ detail: { kind } })
        return { status: 204 }
      })
    },
  })
}

/** The row of a receiver that was added here. */
async function addedRow(parts: AlertParts, db: Reader, name: string): Promise<ReceiverRow> {
  const row = await RECEIVERS.find(db, { name })
  if (row !== undefined) return row
  const isOfFile = (await parts.targets(db)).some((one) => one.name === name)
  throw isOfFile ? receiverOfFile(name) : receiverNotFound(name)
}

/** Tells of a row that was written, and gives its record. */
async function written(parts: AlertParts, tx: MutationTx, row: ReceiverRow, vault: Vault): Promise<object> {
  const target = storedTarget(row, vault)
  if (target === undefined) throw receiverNotFound(row.name)
  const { kind, url, minSeverity, isResolvedToo, allowPrivate } = target
  tx.audit({
    detail: {
      kind,
      server: url.host,
      min_severity: minSeverity,
      resolved: isResolvedToo,
      allow_private: allowPrivate,
    },
  })
  tx.dirty(WEBHOOK_RESOURCE, row.name)
  const [record = {}] = await recordsOf(parts, [target], true)
  return record
}

async function recordsOf(
  parts: AlertParts,
  targets: readonly Target[],
  isAdmin: boolean,
): Promise<readonly object[]> {
  const all = await backlogs(parts.context.db)
  return await Promise.all(
    targets.map(
      async ({ name, kind, source, url, minSeverity, isResolvedToo, allowPrivate, link, settings }) => ({
        name,
        kind,
        source,
        server: url.host,
        min_severity: minSeverity,
        resolved: isResolvedToo,
        allow_private: allowPrivate,
        link: link ?? null,
        settings: (isAdmin ? settings : undefined) ?? null,
        ...(await untakenBy(parts, name, all.get(name))),
      }),
    ),
  )
}

/** The row of what was given. Throws `validation_failed`, which names what is wrong with which field. */
async function rowOf(
  vault: Vault,
  name: string,
  kind: Kind,
  given: ChangeBody,
  before?: ReceiverRow,
): Promise<ReceiverRow> {
  const { min_severity = 'warning', resolved = true, allow_private = false, link, ...fields } = given
  const kept = before === undefined ? {} : keptSecrets(before, fields, vault)
  const values = valuesOf(kind, { ...kept, ...fields })
  const server = serverOf(kind, values).href
  const names = Object.keys(kept)
  // Nobody learns a secret by sending it to a server of their own, or in the clear.
  if (before !== undefined && names.length > 0 && isElsewhere(before, kind, { ...values, server }))
    throw refused(
      names.map((secret) => ({
        pointer: `/${secret}`,
        message: `enter ${secret} again, since it would be sent to another server`,
      })),
    )
  const { settings, secrets } = partsOf(kind, values)
  const plain = Buffer.from(JSON.stringify(secrets))
  const row: ReceiverRow = {
    name,
    kind,
    server,
    min_severity,
    is_resolved_too: resolved ? 1 : 0,
    allow_private: allow_private ? 1 : 0,
    link: link ?? null,
    settings: JSON.stringify(settings),
    secrets_sealed: vault.seal(plain, sealOf(name)),
  }
  plain.fill(0)
  const target = storedTarget(row, vault)
  if (target === undefined) return row
  return await refuseUseless(target).then(
    () => row,
    (error: Error) => {
      const pointer = kind === 'mail' ? '/host' : 'url' in FIELDS[kind] ? '/url' : '/server'
      throw refused([{ pointer, message: error.message }])
    },
  )
}

/** What a kind needs, with what is usual. Throws `validation_failed` for what is missing, and for what it does not have. */
function valuesOf(kind: Kind, given: Values): Values {
  const fields = FIELDS[kind]
  const missing = Object.keys(fields).filter(
    (name) => fields[name]?.isRequired === true && given[name] === undefined,
  )
  const lonely = kind === 'mail' && (given.user === undefined) !== (given.password === undefined)
  const problems = [
    ...Object.keys(given)
      .filter((name) => fields[name] === undefined)
      .map((name) => [name, `has no ${name}`] as const),
    ...missing.map((name) => [name, `needs ${name}`] as const),
    ...(lonely ? [['password', 'needs user and password, or neither'] as const] : []),
    ...secretProblem(given.secret),
  ]
  if (problems.length > 0)
    throw refused(
      problems.map(([name, why]) => ({ pointer: `/${name}`, message: `a receiver of kind ${kind} ${why}` })),
    )
  const usual = Object.entries(fields).flatMap(([name, field]) =>
    field.usual === undefined ? [] : [[name, field.usual] as const],
  )
  return { ...Object.fromEntries(usual), ...given }
}

function secretProblem(secret: string | number | undefined): readonly (readonly [string, string])[] {
  if (secret === undefined || isSigningSecret(String(secret))) return []
  return [['secret', `needs a ${SIGNING_SECRET} as secret`]]
}

/** The secrets that stay as they are; none that the vault does not open. */
function keptSecrets(before: ReceiverRow, given: Values, vault: Vault): Readonly<Record<string, string>> {
  try {
    const all = Object.entries(opened(before, vault))
    return Object.fromEntries(all.filter(([name]) => given[name] === undefined))
  } catch {
    return {}
  }
}

/** Whether another server gets what is sent, or the same in the clear or no longer so. */
function isElsewhere(before: ReceiverRow, kind: Kind, now: Values): boolean {
  const was = { ...(JSON.parse(before.settings) as Values), server: before.server }
  return now.server !== was.server || isEncrypted(kind, was) !== isEncrypted(kind, now)
}

function refused(details: readonly ErrorDetail[]): Error {
  return validationFailed(details.map(({ message }) => message).join('; '), { details })
}
