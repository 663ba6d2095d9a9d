import { X509Certificate } from 'node:crypto'
import type { Command } from 'commander'
import { baseUrl, bearerToken, type ConnectionOptions } from '../client/credentials.ts'
import { identityOf } from '../client/identity.ts'
import { connect } from '../client/service.ts'
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

async function login(terminal: Terminal, username: string, options: ConnectionOptions): Promise<void> {
  const base = baseUrl(terminal, options)
  const [password = '', code = ''] = await askLines(terminal, LOGIN_QUESTIONS)
  const answer = await connect(terminal, options, true).post('/v1/auth/login', {
    body: { username, password, code },
  })
  const session = await keepSession(terminal, base, username, answer)
  printRecord(terminal, options, {
    name: username,
    origin: session.origin,
    token_expires_at: session.expires_at,
  })
}

async function logout(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const base = baseUrl(terminal, options)
  const session = sessionFor(terminal, base)
  if (session === undefined) throw failure('not_logged_in', `nobody is logged in at ${base.origin}`)
  const headers = { cookie: session.cookie }
  await connect(terminal, options, true).post('/v1/auth/logout', { headers })
  dropSession(terminal)
  printRecord(terminal, options, { name: session.name, logged_out: true })
}

/** In the order in which commands look for a credential. Asks nobody. */
async function whoAmI(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const base = baseUrl(terminal, options)
  const print = (record: Readonly<Record<string, unknown>>): void =>
    printRecord(terminal, options, { url: base.origin, ...record })
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
