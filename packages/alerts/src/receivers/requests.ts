import type { Severity } from '../rules/rule.ts'
import { hostOf } from '../webhooks/judge.ts'
import { type Message, signedHeaders } from '../webhooks/sign.ts'
import { type Kind, serverOf, type Values } from './kinds.ts'
import { type RuleTexts, type Words, wordsOf } from './words.ts'

/** A message as one receiver takes it, over HTTP or SMTP. */
export type Outgoing = {
  /** What no text may repeat that a receiver answers. */
  readonly secrets: readonly string[]
} & ({ readonly by: 'http'; readonly request: HttpRequest } | { readonly by: 'smtp'; readonly mail: Mail })

export interface HttpRequest {
  readonly method: 'POST' | 'PUT'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Why it refuses stands in its answer, in words; of others the status is looked at alone. */
  readonly saysWhy?: true
}

/** A mail, and how it is handed over. */
export interface Mail {
  readonly host: string
  readonly port: number
  readonly encryption: 'tls' | 'starttls' | 'none'
  readonly login: { readonly user: string; readonly pass: string } | undefined
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The same each time it comes, so that a reader shows it once. */
  readonly messageId: string
}

const PRIORITIES: Readonly<Record<Severity, number>> = { critical: 5, warning: 4, info: 3 }
const TAGS: Readonly<Record<Severity, string>> = {
  critical: 'rotating_light',
  warning: 'warning',
  info: 'information_source',
}

type Build = (
  values: Readonly<Record<string, string>>,
  words: Words,
  message: Message,
  nowMs: number,
) => HttpRequest

/** The request of each kind that speaks HTTP. */
const BUILD: Readonly<Record<Exclude<Kind, 'mail'>, Build>> = {
  // https://www.standardwebhooks.com
  webhook: ({ url = '', secret = '', authorization }, _, message, nowMs) => ({
    method: 'POST',
    url: new URL(url),
    headers: {
      ...signedHeaders(message, [secret], nowMs),
      ...(authorization !== undefined && { authorization }),
    },
    body: message.body,
  }),
  // https://docs.ntfy.sh/publish/#publish-as-json: to the root of the server, the topic inside.
  ntfy: ({ server = '', topic, token }, { title, text, severity, link, isOver }) => ({
    method: 'POST',
    url: new URL('/', server),
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    body: JSON.stringify({
      topic,
      title,
      message: text,
      priority: isOver ? PRIORITIES.info : PRIORITIES[severity],
      tags: [isOver ? 'white_check_mark' : TAGS[severity]],
      ...(link !== undefined && { click: link }),
    }),
    saysWhy: true,
  }),
  // Matrix client-server API, PUT /_matrix/client/v3/rooms/{roomId}/send/{eventType}/{txnId}: the same id is shown once.
  matrix: ({ server = '', room = '', token }, words, { id }) => ({
    method: 'PUT',
    url: new URL(`/_matrix/client/v3/rooms/${encodeURIComponent(room)}/send/m.room.message/${id}`, server),
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ msgtype: 'm.text', body: whole(words) }),
    saysWhy: true,
  }),
  // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks: &, < and > are written as entities.
  slack: ({ url = '' }, words) => ({
    method: 'POST',
    url: new URL(url),
    headers: {},
    body: JSON.stringify({
      text: whole(words).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    }),
    saysWhy: true,
  }),
  // https://core.telegram.org/bots/api#sendmessage: 4096 characters at most; ours have a few hundred.
  telegram: ({ server = '', token, chat }, words) => ({
    method: 'POST',
    url: new URL(`/bot${token}/sendMessage`, server),
    headers: {},
    body: JSON.stringify({
      chat_id: chat,
      text: whole(words),
      link_preview_options: { is_disabled: true },
    }),
    saysWhy: true,
  }),
}

function whole({ title, text }: Words): string {
  return `${title}\n${text}`
}

/** What is sent of a message to a receiver of this kind with these fields. */
export function outgoingOf(
  { kind, settings, secrets, link }: Receiving,
  message: Message,
  nowMs: number,
  rules: RuleTexts,
): Outgoing {
  const words = wordsOf(message.body, link, rules)
  const values = { ...settings, ...secrets }
  const hidden = Object.entries(secrets).flatMap(([name, value]) => formsOf(name, value))
  if (kind === 'mail') return { by: 'smtp', secrets: hidden, mail: mailOf(values, words, message) }
  const texts = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
  return { by: 'http', secrets: hidden, request: BUILD[kind](texts, words, message, nowMs) }
}

/** Who a message is made for. */
export interface Receiving {
  readonly kind: Kind
  readonly settings: Values
  readonly secrets: Readonly<Record<string, string>>
  readonly link: string | undefined
}

function mailOf(values: Values, { title, text }: Words, { id }: Message): Mail {
  const { user, password = '', from, port, encryption = port === 465 ? 'tls' : 'starttls' } = values
  return {
    host: hostOf(serverOf('mail', values)),
    port: Number(port),
    encryption: encryption === 'tls' || encryption === 'none' ? encryption : 'starttls',
    login: user === undefined ? undefined : { user: String(user), pass: String(password) },
    from: String(from),
    to: String(values.to),
    subject: title,
    text: `${text}\n`,
    messageId: `<${id}@${String(from).split('@')[1]}>`,
  }
}

/** How a secret may stand in an answer: as it is, in a URL, in base64, and the path of a URL alone. */
function formsOf(name: string, value: string): readonly string[] {
  const path = name === 'url' ? [new URL(value).pathname, new URL(value).search] : []
  const forms = [value, ...path, encodeURIComponent(value), Buffer.from(value).toString('base64')]
  return forms.filter((form) => form.length > 1)
}
