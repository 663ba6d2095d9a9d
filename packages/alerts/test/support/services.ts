import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { listen } from '@steeple/testkit'
import { SMTPServer } from 'smtp-server'

/** What a service was told, and how often it refused. */
export interface Service {
  readonly port: number
  readonly told: readonly string[]
  readonly refused: readonly string[]
  close(): Promise<void>
}

/** What the services of tests know their sender by. */
export const KNOWN = {
  topic: 'hill-alerts-7f3a',
  token: 'tk_secretOfTheTest',
  room: '!hill:chat.example',
  slack: '/services/T000/B000/secretPathOfTheTest',
  bot: '123456:secretBotOfTheTest',
  chat: '-100200300',
  user: 'box@mail.example',
  password: 'secret password of the test',
}

interface Answer {
  readonly status: number
  readonly body: unknown
  /** What was shown to people; absent when it was refused. */
  readonly told?: string
}

const refusal = (status: number, body: unknown): Answer => ({ status, body })
type Request = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { readonly body: string }

function jsonOf({ body }: Request): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** ntfy 2: JSON is read at the root alone; at a topic it would be shown as it stands. */
function ntfy(request: Request): Answer {
  const json = jsonOf(request)
  if (request.headers.authorization !== `Bearer ${KNOWN.token}`)
    return refusal(401, { code: 40101, http: 401, error: 'unauthorized' })
  if (request.url !== '/') return { status: 200, body: {}, told: request.body }
  if (json === undefined)
    return refusal(400, { code: 40024, http: 400, error: 'invalid request: body must be message JSON' })
  if (json.topic !== KNOWN.topic) return refusal(403, { code: 40301, http: 403, error: 'forbidden' })
  const { priority } = json
  if (typeof priority !== 'number' || priority < 1 || priority > 5)
    return refusal(400, { code: 40007, http: 400, error: 'invalid request: priority invalid' })
  return { status: 200, body: { id: 'x' }, told: `${json.title}|${json.message}|${priority}|${json.click}` }
}

/** Matrix client-server API v1.11: an event with the transaction id of another is that one. */
function matrix(): (request: Request) => Answer {
  const seen = new Set<string>()
  return (request) => {
    const [, room = '', txn] =
      /^\/_matrix\/client\/v3\/rooms\/([^/]+)\/send\/m\.room\.message\/([^/]+)$/.exec(request.url ?? '') ?? []
    const refused = matrixRefusal(request, decodeURIComponent(room))
    if (refused !== undefined) return refused
    if (request.method !== 'PUT' || txn === undefined)
      return refusal(404, { errcode: 'M_UNRECOGNIZED', error: 'Unrecognized request' })
    const isNew = !seen.has(txn)
    seen.add(txn)
    const told = String(jsonOf(request)?.body)
    return { status: 200, body: { event_id: `$${txn}` }, ...(isNew && { told }) }
  }
}

function matrixRefusal(request: Request, room: string): Answer | undefined {
  const { authorization } = request.headers
  if (authorization === undefined)
    return refusal(401, { errcode: 'M_MISSING_TOKEN', error: 'Missing access token' })
  if (authorization !== `Bearer ${KNOWN.token}`)
    return refusal(401, { errcode: 'M_UNKNOWN_TOKEN', error: `Invalid access token ${authorization}` })
  if (room !== KNOWN.room) return refusal(403, { errcode: 'M_FORBIDDEN', error: 'User is not in the room' })
  const json = jsonOf(request)
  if (json === undefined) return refusal(400, { errcode: 'M_NOT_JSON', error: 'Content not JSON.' })
  const isText = json.msgtype === 'm.text' && typeof json.body === 'string'
  return isText ? undefined : refusal(400, { errcode: 'M_BAD_JSON', error: 'no body' })
}

/** Slack: a word as text, whatever is wrong. */
function slack(request: Request): Answer {
  if (request.url !== KNOWN.slack) return refusal(404, 'no_service')
  if (request.method !== 'POST') return refusal(405, 'method_not_allowed')
  const json = request.headers['content-type'] === 'application/json' ? jsonOf(request) : undefined
  if (json === undefined) return refusal(400, 'invalid_payload')
  if (typeof json.text !== 'string') return refusal(400, 'no_text')
  // People see entities as what they stand for; anything else in angle brackets is a link or a command.
  if (/[<>]|&(?!amp;|lt;|gt;)/.test(json.text)) return refusal(400, 'invalid_blocks')
  return {
    status: 200,
    body: 'ok',
    told: json.text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
  }
}

/** Telegram: the token is in the path, and every answer is JSON. */
function telegram(request: Request): Answer {
  const bad = (error_code: number, description: string): Answer =>
    refusal(error_code, { ok: false, error_code, description })
  const [, token, method] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? '') ?? []
  if (token !== KNOWN.bot) return bad(token === undefined ? 404 : 401, `Unauthorized ${request.url}`)
  if (method !== 'sendMessage') return bad(404, 'Not Found')
  const json = request.headers['content-type'] === 'application/json' ? jsonOf(request) : undefined
  if (typeof json?.text !== 'string' || json.text === '' || json.text.length > 4_096)
    return bad(400, 'Bad Request: message text is empty')
  if (String(json.chat_id) !== KNOWN.chat) return bad(400, 'Bad Request: chat not found')
  return { status: 200, body: { ok: true, result: {} }, told: json.text }
}

const SERVICES = { ntfy: () => ntfy, matrix, slack: () => slack, telegram: () => telegram }

/** Starts one on a free port of loopback; it refuses what the real one says that it refuses. */
export async function startService(kind: keyof typeof SERVICES): Promise<Service> {
  const told: string[] = []
  const refused: string[] = []
  const answerOf = SERVICES[kind]()
  const server: Server = createServer(async (request, response) => {
    const { method, url, headers } = request
    const answer = answerOf({ method, url, headers, body: await text(request) })
    if (answer.told !== undefined) told.push(answer.told)
    if (answer.status >= 300) refused.push(JSON.stringify(answer.body))
    response.statusCode = answer.status
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body))
  })
  const { port, close } = await listen(server)
  return { port, told, refused, close }
}

/** A mail server that lets only its user send, and of whom it says so; `tls` is a key and a certificate. */
export async function startMailServer(
  tls: { readonly key?: string; readonly cert?: string; readonly secure?: boolean } = {},
): Promise<Service> {
  const told: string[] = []
  const refused: string[] = []
  const hasTls = tls.key !== undefined
  const server = new SMTPServer({
    ...tls,
    logger: false,
    disabledCommands: hasTls ? [] : ['STARTTLS'],
    // As relays do: a password is not taken in the clear where there could be TLS.
    allowInsecureAuth: !hasTls,
    onAuth: ({ username, password }, _, done) => {
      if (username === KNOWN.user && password === KNOWN.password) return done(null, { user: username })
      refused.push(`${username}`)
      done(Object.assign(new Error(`authentication failed for ${password}`), { responseCode: 535 }))
    },
    onMailFrom: ({ address }, _, done) => {
      if (address === KNOWN.user) return done()
      refused.push(address)
      done(Object.assign(new Error('sender address rejected'), { responseCode: 553 }))
    },
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const to = envelope.rcptTo.map(({ address }) => address).join()
        told.push(`${to}\n${Buffer.concat(chunks).toString('utf8')}`)
        done()
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    port: (server.server.address() as AddressInfo).port,
    told,
    refused,
    close: () => new Promise<void>((done) => server.close(() => done())),
  }
}
