import { readFile } from 'node:fs/promises'
import { type SubscriberSource, southboundUnavailable } from '@steeple/contracts'
import type { HttpClient } from '@steeple/http-client'
import { ellaSource } from './ella.ts'
import { pyhssSource } from './pyhss.ts'
import type { Get } from './values.ts'

/** The core that `hss.other` names. */
export interface OtherCore {
  readonly other: 'none' | 'pyhss' | 'ella'
  readonly other_url: string
  readonly other_token_file: string
}

/** The subscribers of another core, by its API; undefined when none is named. One answer of each kind serves for the whole life. */
export function otherSource(settings: OtherCore, client: HttpClient): SubscriberSource | undefined {
  const { other, other_url: url } = settings
  if (other === 'none' || url === '') return undefined
  return other === 'pyhss'
    ? pyhssSource(getOf(settings, client, (token) => ({ 'provisioning-key': token })))
    : ellaSource(getOf(settings, client, (token) => ({ authorization: `Bearer ${token}` })))
}

const REQUEST_MS = 15_000

function getOf(
  { other, other_url: base, other_token_file: file }: OtherCore,
  client: HttpClient,
  headersOf: (token: string) => Readonly<Record<string, string>>,
): Get {
  const words = `the other core (${other}, hss.other_url)`
  return async (path, signal) => {
    const headers = file === '' ? {} : headersOf(await tokenIn(file))
    const url = new URL(`${base.replace(/\/$/, '')}${path}`)
    const bound = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)])
    const answer = await client
      .request({ method: 'GET', url, headers: { accept: 'application/json', ...headers } }, bound)
      .catch((error: unknown) => {
        signal.throwIfAborted()
        const { code } = (error ?? {}) as { code?: unknown } // of the socket
        const why = typeof code === 'string' ? ` (${code})` : ''
        throw southboundUnavailable(
          `${words} does not answer${why}; look at its address, and whether it runs`,
        )
      })
    if (answer.status === 401 || answer.status === 403)
      throw southboundUnavailable(`${words} does not take the token of hss.other_token_file`)
    if (answer.status !== 200)
      throw southboundUnavailable(
        `${words} answers ${answer.status} for ${path.replaceAll(/[0-9]{6,}/g, '…')}`,
      )
    const value = jsonIn(answer.text)
    if (value === undefined)
      throw southboundUnavailable(`${words} answers no JSON; hss.other_url is its API's address`)
    return value
  }
}

/** Undefined for what is none. The parser's words have some of it, which can be a key. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function tokenIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (cause) {
    throw southboundUnavailable('the file of hss.other_token_file cannot be read', { cause })
  }
}
