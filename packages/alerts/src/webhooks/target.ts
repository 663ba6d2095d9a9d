import { type Context, configInvalid, type Reader, type Vault } from '@steeple/contracts'
import type { WebhookConfig } from '../config.ts'
import { isEncrypted, KINDS, type Kind, type Values } from '../receivers/kinds.ts'
import { type Outgoing, outgoingOf } from '../receivers/requests.ts'
import type { RuleTexts } from '../receivers/words.ts'
import type { Severity } from '../rules/rule.ts'
import { allReceivers, RECEIVERS, type ReceiverRow } from '../store/receiver-store.ts'
import { authorizationOf, signingSecrets } from './secret-file.ts'
import { type Message, signedHeaders } from './sign.ts'

export type MessageType = 'alert.firing' | 'alert.resolved' | 'alert.acked' | 'alert.test'

export interface Target {
  /** As it is called, or its host: unique. */
  readonly name: string
  readonly kind: Kind
  /** The configuration file names it, or somebody has added it. */
  readonly source: 'file' | 'store'
  /** Where the connection goes: an origin, `smtp:` of mail. */
  readonly url: URL
  readonly isEncrypted: boolean
  readonly allowPrivate: boolean
  readonly caFile: string | undefined
  readonly minSeverity: Severity
  readonly isResolvedToo: boolean
  /** Of one that somebody has added: what it was given, without secrets. */
  readonly settings: Values | undefined
  readonly link: string | undefined
  /** Whether it wants messages of this type. */
  wants(type: MessageType, severity: Severity): boolean
  /** What is sent of a message. Rejects with an Error without secrets when its files or its secrets let none be made. */
  outgoing(message: Message, nowMs: number, texts: () => RuleTexts): Promise<Outgoing>
}

/** What a receiver gets that does not say what it wants. */
const USUAL: readonly string[] = ['alert.firing', 'alert.resolved']
const GRAVITY: readonly Severity[] = ['info', 'warning', 'critical']

function isGrave(severity: Severity, least: Severity): boolean {
  return GRAVITY.indexOf(severity) >= GRAVITY.indexOf(least)
}

/** The receivers of the configuration. Throws `config_invalid` when two have the same name. */
export function targetsOf(webhooks: readonly WebhookConfig[]): readonly Target[] {
  const targets = webhooks.map(targetOf)
  const names = targets.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return targets
  throw configInvalid(`alerts.webhooks: two are called ${twice}; give each a name of its own (name: …)`)
}

function targetOf(webhook: WebhookConfig): Target {
  const url = new URL(webhook.url)
  const events = webhook.events === undefined || webhook.events.length === 0 ? USUAL : webhook.events
  const minSeverity = webhook.min_severity ?? 'info'
  return {
    name: webhook.name ?? url.hostname,
    kind: 'webhook',
    source: 'file',
    url,
    isEncrypted: url.protocol === 'https:',
    allowPrivate: webhook.allow_private === true,
    caFile: webhook.ca_file,
    minSeverity,
    isResolvedToo: events.includes('alert.resolved'),
    settings: undefined,
    link: undefined,
    wants: (type, severity) =>
      type === 'alert.test' || (events.includes(type) && isGrave(severity, minSeverity)),
    outgoing: async (message, nowMs) => {
      const secrets = await signingSecrets(webhook.secret_file)
      const authorization = await authorizationOf(webhook.authorization_file)
      const headers = {
        ...(authorization !== undefined && { authorization }),
        ...signedHeaders(message, secrets, nowMs),
      }
      const request = { method: 'POST', url, headers, body: message.body } as const
      return { by: 'http', secrets: [], request }
    },
  }
}

/** The receivers of now: of the file, and those that somebody has added under another name. */
export function targetsHere(
  files: readonly Target[],
  context: Pick<Context, 'db'>,
  vault: Vault,
): (reader?: Reader) => Promise<readonly Target[]> {
  vault.register({ table: RECEIVERS.name, key: 'name', columns: ['secrets_sealed'] })
  const names = new Set(files.map(({ name }) => name))
  return async (reader = context.db) => {
    const rows = await allReceivers(reader)
    return [
      ...files,
      ...rows.filter(({ name }) => !names.has(name)).flatMap((row) => storedTarget(row, vault) ?? []),
    ]
  }
}

/** The receiver of a row; undefined for a kind that a later version has added. */
export function storedTarget(row: ReceiverRow, vault: Pick<Vault, 'open'>): Target | undefined {
  const kind = KINDS.find((one) => one === row.kind)
  if (kind === undefined) return undefined
  const settings = JSON.parse(row.settings) as Values // written by the route
  const isResolvedToo = row.is_resolved_too === 1
  const link = row.link ?? undefined
  return {
    name: row.name,
    kind,
    source: 'store',
    url: new URL(row.server),
    isEncrypted: isEncrypted(kind, { ...settings, server: row.server }),
    allowPrivate: row.allow_private === 1,
    caFile: undefined,
    minSeverity: row.min_severity,
    isResolvedToo,
    settings,
    link,
    wants: (type, severity) => {
      if (type === 'alert.test') return true
      if (!isGrave(severity, row.min_severity)) return false
      return type === 'alert.firing' || (type === 'alert.resolved' && isResolvedToo)
    },
    outgoing: async (message, nowMs, texts) =>
      outgoingOf({ kind, settings, secrets: opened(row, vault), link }, message, nowMs, texts()),
  }
}

/** The secrets of a receiver. Throws an Error that says what to do when the vault does not open them. */
export function opened(
  { name, secrets_sealed }: ReceiverRow,
  vault: Pick<Vault, 'open'>,
): Readonly<Record<string, string>> {
  let plain: Uint8Array
  try {
    plain = vault.open(secrets_sealed, sealOf(name))
  } catch (cause) {
    throw new Error('its secrets cannot be opened with the keys of this box; enter them again', { cause })
  }
  try {
    return JSON.parse(Buffer.from(plain).toString()) as Readonly<Record<string, string>> // sealed by the route
  } finally {
    plain.fill(0)
  }
}

/** What the secrets of a receiver are bound to. */
export function sealOf(name: string): string {
  return `${RECEIVERS.name}/${name}`
}
