import { type JsonSchema, PLAIN_TEXT_PATTERN } from '@steeple/contracts'

/** What a receiver is. */
export const KINDS = ['webhook', 'ntfy', 'matrix', 'slack', 'telegram', 'mail'] as const
export type Kind = (typeof KINDS)[number]

/** What a receiver has to be given, by the names of the API. */
export type Values = Readonly<Record<string, string | number>>

interface FieldOf {
  readonly isRequired?: true
  /** Sealed in the store, and never answered. */
  readonly isSecret?: true
  /** What it is when absent. */
  readonly usual?: string | number
}

const SECRET = { isSecret: true } as const
const NEEDED_SECRET = { isRequired: true, isSecret: true } as const
const NEEDED = { isRequired: true } as const

/** The fields of each kind. The URL of a webhook and of Slack lets everybody post who knows it; so does a topic of ntfy. */
export const FIELDS: Readonly<Record<Kind, Readonly<Record<string, FieldOf>>>> = {
  webhook: { url: NEEDED_SECRET, secret: NEEDED_SECRET, authorization: SECRET },
  ntfy: { server: { usual: 'https://ntfy.sh' }, topic: NEEDED_SECRET, token: SECRET },
  matrix: { server: NEEDED, room: NEEDED, token: NEEDED_SECRET },
  slack: { url: NEEDED_SECRET },
  telegram: { server: { usual: 'https://api.telegram.org' }, chat: NEEDED, token: NEEDED_SECRET },
  mail: {
    host: NEEDED,
    port: { usual: 587 },
    encryption: {},
    user: {},
    password: SECRET,
    from: NEEDED,
    to: NEEDED,
  },
}

const ADDRESS = '[^\\s@,;<>"()]+@[^\\s@,;<>"()]+'
/** What stands in a header or a path as it is. */
const WORD: JsonSchema = { type: 'string', pattern: '^[\\x21-\\x7e]+$', maxLength: 500 }
const LINE: JsonSchema = { type: 'string', minLength: 1, maxLength: 300, pattern: PLAIN_TEXT_PATTERN }
const ORIGIN: JsonSchema = { type: 'string', pattern: '^https?://[^/?#@\\s]+/?$', maxLength: 300 }

/** Every field that some kind has, as the API takes it. */
export const FIELD_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  url: {
    type: 'string',
    pattern: '^https?://[^/?#@\\s]+([/?#]\\S*)?$',
    maxLength: 2_000,
    description: 'webhook, slack: where to post. Secret.',
  },
  secret: { ...WORD, description: 'webhook: whsec_ and 24 to 64 octets in base64. Secret.' },
  authorization: {
    type: 'string',
    pattern: '^[\\x20-\\x7e]+$',
    maxLength: 1_000,
    description: 'webhook: value of the header Authorization. Secret.',
  },
  server: {
    ...ORIGIN,
    description: 'ntfy, matrix, telegram: https://host. ntfy.sh and api.telegram.org when absent.',
  },
  topic: {
    type: 'string',
    pattern: '^[-_A-Za-z0-9]{1,64}$',
    description: 'ntfy: the topic. Secret: it is as good as a password.',
  },
  token: { ...WORD, description: 'ntfy, matrix: access token. telegram: token of the bot. Secret.' },
  room: { type: 'string', pattern: '^![^\\s/]{1,254}$', description: 'matrix: id of the room, !…' },
  chat: {
    type: 'string',
    pattern: '^(-?\\d{1,20}|@[A-Za-z0-9_]{1,64})$',
    description: 'telegram: number of the chat, or @name of a channel.',
  },
  host: { type: 'string', pattern: '^[A-Za-z0-9.:_-]{1,253}$', description: 'mail: the SMTP server.' },
  port: { type: 'integer', minimum: 1, maximum: 65_535, description: 'mail: 587 when absent.' },
  encryption: {
    type: 'string',
    enum: ['tls', 'starttls', 'none'],
    description: 'mail: tls at port 465 and starttls elsewhere when absent. none only in private networks.',
  },
  user: { ...LINE, description: 'mail: who logs in. Nobody does when absent.' },
  password: { ...LINE, description: 'mail: password of the user. Secret.' },
  from: { type: 'string', pattern: `^${ADDRESS}$`, maxLength: 300, description: 'mail: sender.' },
  to: {
    type: 'string',
    pattern: `^${ADDRESS}(, ?${ADDRESS})*$`,
    maxLength: 1_000,
    description: 'mail: one address, or several with commas.',
  },
}

/** The fields of a kind that are secrets, and the others. */
export function partsOf(
  kind: Kind,
  values: Values,
): { readonly settings: Values; readonly secrets: Readonly<Record<string, string>> } {
  const isSecret = (name: string): boolean => FIELDS[kind][name]?.isSecret === true
  const all = Object.entries(values)
  return {
    settings: Object.fromEntries(all.filter(([name]) => !isSecret(name))),
    secrets: Object.fromEntries(
      all.filter(([name]) => isSecret(name)).map(([name, value]) => [name, String(value)]),
    ),
  }
}

/** Where the connection goes: an origin, of mail `smtp://host:port`. */
export function serverOf(kind: Kind, values: Values): URL {
  if (kind === 'mail') {
    const host = String(values.host)
    return new URL(`smtp://${host.includes(':') ? `[${host}]` : host}:${values.port}`)
  }
  return new URL(new URL(String(values.server ?? values.url)).origin)
}

/** Whether what is sent is encrypted on its way. */
export function isEncrypted(kind: Kind, values: Values): boolean {
  return kind === 'mail' ? values.encryption !== 'none' : serverOf(kind, values).protocol === 'https:'
}
