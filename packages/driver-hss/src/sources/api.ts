import { readFile } from 'node:fs/promises'
import { type SubscriberSource, southboundUnavailable } from '@steeple/contracts'
import type { HttpClient } from '@steeple/http-client'
import { ellaSource } from './ella.ts'
import { pyhssSource } from './pyhss.ts'

/** The core that `hss.other` names. */
export interface OtherCore {
  readonly other: 'none' | 'pyhss' | 'ella'
  readonly other_url: string
  readonly other_token_file: string
}

/** Reads JSON from an API: each path below its address. Throws `southbound_unavailable`. */
export type Get = (path: string, signal: AbortSignal) => Promise<unknown>

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
        throw southboundUnavailable(`${words} does not answer${why}; look at its address, and whether it runs`)
      })
    if (answer.status === 401 || answer.status === 403)
      throw southboundUnavailable(`${words} does not take the token of hss.other_token_file`)
    if (answer.status !== 200)
      throw southboundUnavailable(`${words} answers ${answer.status} for ${path.replaceAll(/[0-9]{6,}/g, '…')}`)
    try {
      return JSON.parse(answer.text)
    } catch {
      throw southboundUnavailable(`${words} answers no JSON; hss.other_url is its API's address`)
    }
  }
}

async function tokenIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch {
    throw southboundUnavailable('the file of hss.other_token_file cannot be read')
  }
}

/** A list that comes in pages, from `first` on, up to 1,000 of them. */
export async function allPages<T>(
  first: number,
  page: (at: number) => Promise<readonly T[]>,
  size: number,
): Promise<readonly T[]> {
  const all: T[] = []
  for (let at = first; at < first + MOST_PAGES; at += 1) {
    const some = await page(at)
    all.push(...some)
    if (some.length < size) break
  }
  return all
}

const MOST_PAGES = 1_000
