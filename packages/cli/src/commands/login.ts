import { X509Certificate } from 'node:crypto'
import type { Command } from 'commander'
import { baseUrl, bearerToken, type ConnectionOptions } from '../client/credentials.ts'
import { exchange } from '../client/exchange.ts'
import { identityOf } from '../client/identity.ts'
import { refusalOf } from '../client/rest-client.ts'
import { dropSession, keepSession, sessionFor } from '../client/session.ts'
import { failure } from '../command-error.ts'
import { askLines, LOGIN_QUESTIONS } from '../output/ask-lines.ts'
import { printRecord } from '../output/print.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'

/** `svc login|logout|whoami` */
export function addLoginCommands(program: Command, terminal: Terminal): void {
  restCommand(
    program,
    'login <name>',
    'log in by password and code (a line each on standard input where it is no terminal)',
  ).action((name: string, options: ConnectionOptions) => login(terminal, name, options))
  restCommand(program, 'logout', 'end the session of svc login').action((options: ConnectionOptions) =>
    logout(terminal, options),
  )
  restCommand(program, 'whoami', 'as whom commands speak to the service').action(
    (options: ConnectionOptions) => whoAmI(terminal, options),
  )
}

async function login(terminal: Terminal, name: string, options: ConnectionOptions): Promise<void> {
  const base = baseUrl(terminal, options)
  const [password = '', code = ''] = await askLines(terminal, LOGIN_QUESTIONS)
  const answer = await post(terminal, options, base, '/v1/auth/login', {
    body: { username: name, password, code },
  })
  if (answer.status !== 200) throw refusalOf(answer)
  const session = await keepSession(terminal, base, name, answer)
  printRecord(terminal, options.json === true, {
    name,
    origin: session.origin,
    token_expires_at: session.expires_at,
  })
}

async function logout(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const base = baseUrl(terminal, options)
  const session = sessionFor(terminal, base)
  if (session === undefined) throw failure('not_logged_in', `nobody is logged in at ${base.origin}`)
  const answer = await post(terminal, options, base, '/v1/auth/logout', { cookie: session.cookie })
  if (answer.status !== 204) throw refusalOf(answer)
  dropSession(terminal)
  printRecord(terminal, options.json === true, { name: session.name, logged_out: true })
}

function post(
  terminal: Terminal,
  options: ConnectionOptions,
  base: URL,
  path: string,
  { body, cookie }: { readonly body?: object; readonly cookie?: string },
) {
  const text = body === undefined ? '' : JSON.stringify(body)
  const identity = base.protocol === 'https:' ? identityOf(terminal, options) : undefined
  return exchange({
    method: 'POST',
    url: new URL(path, base),
    headers: {
      'user-agent': 'svc-cli',
      'content-length': String(Buffer.byteLength(text)),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(cookie === undefined ? {} : { cookie }),
    },
    body: text,
    identity: identity && { ...identity, client: undefined },
  })
}

/** In the order in which commands look for a credential. Asks nobody. */
async function whoAmI(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const base = baseUrl(terminal, options)
  const print = (record: Readonly<Record<string, unknown>>): void =>
    printRecord(terminal, options.json === true, { url: base.origin, ...record })
  if (bearerToken(terminal, options) !== undefined) return print({ by: 'token' })
  const session = options.cert === undefined ? sessionFor(terminal, base) : undefined
  if (session !== undefined)
    return print({ by: 'session', name: session.name, token_expires_at: session.expires_at })
  const identity = base.protocol === 'https:' ? identityOf(terminal, options)?.client : undefined
  if (identity === undefined)
    throw failure('nobody', 'there is no credential', {
      hint: 'svc login NAME, SVC_TOKEN, or a client certificate over https (svc user cert NAME --use)',
    })
  const certificate = new X509Certificate(identity.cert)
  print({
    by: 'certificate',
    name: certificate.subjectAltName ?? certificate.subject,
    serial: certificate.serialNumber.toLowerCase().replace(/^0+(?=.)/, ''),
    expires_at: new Date(certificate.validTo).toISOString(),
  })
}
