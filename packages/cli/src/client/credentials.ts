import { readFileSync, statSync } from 'node:fs'
import { failure, usageError } from '../command-error.ts'
import type { Terminal } from '../terminal.ts'
import { type IdentityOptions, nonEmpty, warn } from './identity.ts'

/** The options that every command which talks to the service takes. */
export interface ConnectionOptions extends IdentityOptions {
  readonly url?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly json?: boolean
}

/** Where a command connects to unless told otherwise. */
const DEFAULT_URL = 'http://127.0.0.1:8080'

/** The service's base address: `--url`, `SVC_URL`, or this machine. Throws `usage`. */
export function baseUrl(terminal: Terminal, options: ConnectionOptions): URL {
  const text = options.url ?? nonEmpty(terminal.env.SVC_URL) ?? DEFAULT_URL
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw usageError(
      `the address of the service is ${JSON.stringify(text)}; it begins with http:// or https://`,
    )
  if (url.username !== '' || url.password !== '')
    throw usageError('the address of the service holds a password; use SVC_TOKEN or --token-file')
  return url
}

/**
 * The bearer token: `--token-file`, `--token`, `SVC_TOKEN`, `SVC_ADMIN_TOKEN`; undefined when there is none.
 *
 * Warns on standard error about a token that others can read. Throws `usage`, `token_file_unreadable`.
 */
export function bearerToken(terminal: Terminal, options: ConnectionOptions): string | undefined {
  const token = tokenFromOptions(terminal, options) ?? tokenFromEnvironment(terminal)
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw usageError('the token holds characters that no token has; look for blanks and line breaks in it')
  return token
}

function tokenFromOptions(terminal: Terminal, options: ConnectionOptions): string | undefined {
  if (options.tokenFile !== undefined) return tokenFromFile(terminal, options.tokenFile)
  if (options.token === undefined) return undefined
  warn(terminal, '--token is visible in the process list; use SVC_TOKEN or --token-file')
  return options.token
}

function tokenFromEnvironment(terminal: Terminal): string | undefined {
  return nonEmpty(terminal.env.SVC_TOKEN) ?? nonEmpty(terminal.env.SVC_ADMIN_TOKEN)
}

function tokenFromFile(terminal: Terminal, file: string): string {
  try {
    if ((statSync(file).mode & 0o077) !== 0)
      warn(terminal, `${file} can be read by others; chmod 600 ${file}`)
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw failure(
      'token_file_unreadable',
      `the token file ${file} cannot be read: ${(cause as Error).message}`,
      {
        cause,
      },
    )
  }
}
