import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { failure, usageError } from '../command-error.ts'
import type { Terminal } from '../terminal.ts'

/** Options that say as whom a command speaks where it has no token, and whom it takes for the service. */
export interface IdentityOptions {
  readonly cert?: string
  readonly key?: string
  readonly ca?: string
}

/** What TLS needs of it. All PEM. */
export interface Identity {
  /** The client certificate and its key; absent where only the service is to be known. */
  readonly client: { readonly cert: string; readonly key: string } | undefined
  /** The only CAs that are believed; undefined: those of the system. */
  readonly ca: string | undefined
  /** The box whose certificate is good whatever name or address it is reached by. */
  readonly nodeId: string | undefined
}

/** Files of the identity in its folder: `svc user cert add NAME --use` writes them. */
export const IDENTITY_FILES = { cert: 'cert.pem', key: 'key.pem', ca: 'ca.pem', box: 'box.json' } as const

/** Where the identity is when nothing else is said; undefined when the user has no home. XDG Base Directory §3. */
export function identityFolder({ env }: Terminal): string | undefined {
  const { XDG_CONFIG_HOME: config = '', HOME: home = '' } = env
  if (config.startsWith('/')) return join(config, 'svc')
  return home.startsWith('/') ? join(home, '.config', 'svc') : undefined
}

/**
 * As whom a command speaks over TLS: `--cert` and `--key`, `SVC_CERT` and `SVC_KEY`, or what `svc user cert add NAME --use` has put in its
 * place; and whom it believes: `--ca`, `SVC_CA`, or the CA that came with it. Another CA leaves the certificate in its place.
 *
 * Warns about a key that others can read. Throws `usage`, `identity_unreadable`.
 */
export function identityOf(terminal: Terminal, options: IdentityOptions): Identity | undefined {
  const cert = options.cert ?? nonEmpty(terminal.env.SVC_CERT)
  const key = options.key ?? nonEmpty(terminal.env.SVC_KEY)
  const ca = options.ca ?? nonEmpty(terminal.env.SVC_CA)
  if ((cert === undefined) !== (key === undefined))
    throw usageError('a certificate needs its key: give both --cert and --key, or both SVC_CERT and SVC_KEY')
  const given = cert === undefined || key === undefined ? undefined : { cert, key }
  const own = given === undefined ? identityInPlace(terminal) : undefined
  if (ca === undefined && given === undefined) return own
  return {
    client: given === undefined ? own?.client : { cert: read(given.cert), key: readKey(terminal, given.key) },
    ca: ca === undefined ? undefined : read(ca),
    // A box that another one has admitted shows another CA's certificate, and is the same box.
    nodeId: own?.nodeId,
  }
}

function identityInPlace(terminal: Terminal): Identity | undefined {
  const folder = identityFolder(terminal)
  if (folder === undefined || !existsSync(join(folder, IDENTITY_FILES.cert))) return undefined
  const file = (name: keyof typeof IDENTITY_FILES): string => join(folder, IDENTITY_FILES[name])
  return {
    client: { cert: read(file('cert')), key: readKey(terminal, file('key')) },
    ca: read(file('ca')),
    nodeId: nodeIdIn(file('box')),
  }
}

function nodeIdIn(file: string): string | undefined {
  try {
    const { node_id } = JSON.parse(read(file)) as { readonly node_id?: unknown }
    return typeof node_id === 'string' ? node_id : undefined
  } catch (cause) {
    throw failure('identity_unreadable', `${file} is damaged; run svc user cert add NAME --use again`, {
      cause,
    })
  }
}

function readKey(terminal: Terminal, file: string): string {
  const text = read(file)
  if ((statSync(file).mode & 0o077) !== 0) warn(terminal, `${file} can be read by others; chmod 600 ${file}`)
  return text
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw failure('identity_unreadable', `${file} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

const warned = new WeakMap<Terminal, Set<string>>()

/** Says what should be otherwise, once however often the command meets it. */
export function warn(terminal: Terminal, text: string): void {
  const before = warned.get(terminal) ?? new Set()
  if (!before.has(text)) terminal.err(`svc: warning: ${text}\n`)
  warned.set(terminal, before.add(text))
}

/** A text; undefined for an empty one, as an environment has it. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
