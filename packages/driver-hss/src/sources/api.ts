import { readFile } from 'node:fs/promises'
import { jsonIn, type SubscriberSource, southboundUnavailable } from '@steeple/contracts'
import { type HttpClient, type HttpClientOptions, httpClient } from '@steeple/http-client'
import { ellaSource } from './ella.ts'
import { pyhssSource } from './pyhss.ts'
import type { Get } from './values.ts'

/** The core that `hss.other` names. */
export interface OtherCore {
  readonly other: 'none' | 'pyhss' | 'ella'
  readonly other_url: string
  readonly other_token_file: string
  readonly other_ca_file: string
}

/** Who asks another core. */
interface OtherClients {
  /** One that believes the CA of that file alone, or those of the system without one. Throws `southbound_unavailable`. */
  believing(caFile: string): Promise<HttpClient>
  close(): void
}

/** Makes them; `close` it. A CA that is renewed is read anew. */
export function otherClients(options: HttpClientOptions): OtherClients {
  let kept: { readonly ca: string; readonly client: HttpClient } | undefined
  return {
    believing: async (caFile) => {
      const ca = caFile === '' ? '' : await textOf(caFile, 'hss.other_ca_file')
      if (kept?.ca !== ca) {
        kept?.client.close()
        kept = { ca, client: httpClient({ ...options, ...(ca === '' ? {} : { connect: { ca } }) }) }
      }
      return kept.client
    },
    close: () => kept?.client.close(),
  }
}

/** The subscribers of another core, by its API; undefined when none is named. One answer of each kind serves for the whole life. */
export function otherSource(
  settings: OtherCore,
  clients: Pick<OtherClients, 'believing'>,
): SubscriberSource | undefined {
  const { other, other_url: url } = settings
  if (other === 'none' || url === '') return undefined
  return other === 'pyhss'
    ? pyhssSource(getOf(settings, clients, (token) => ({ 'provisioning-key': token })))
    : ellaSource(getOf(settings, clients, (token) => ({ authorization: `Bearer ${token}` })))
}

const REQUEST_MS = 15_000
/** A chain that ends at nobody who is believed, by Node's codes. */
const UNBELIEVED = /^(?:SELF_SIGNED|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER))/

function getOf(
  { other, other_url: base, other_token_file: file, other_ca_file: caFile }: OtherCore,
  clients: Pick<OtherClients, 'believing'>,
  headersOf: (token: string) => Readonly<Record<string, string>>,
): Get {
  const words = `the other core (${other}, hss.other_url)`
  return async (path, signal) => {
    const headers = file === '' ? {} : headersOf((await textOf(file, 'hss.other_token_file')).trim())
    const url = new URL(`${base.replace(/\/$/, '')}${path}`)
    const bound = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)])
    const client = await clients.believing(caFile)
    const answer = await client
      .request({ method: 'GET', url, headers: { accept: 'application/json', ...headers } }, bound)
      .catch((error: unknown) => {
        signal.throwIfAborted()
        const { code } = (error ?? {}) as { code?: unknown } // of the socket
        const why = typeof code === 'string' ? ` (${code})` : ''
        throw southboundUnavailable(
          UNBELIEVED.test(String(code))
            ? `${words} shows a certificate that is not believed${why}; name its CA in hss.other_ca_file`
            : `${words} does not answer${why}; look at its address, and whether it runs`,
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

async function textOf(file: string, key: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw southboundUnavailable(`the file of ${key} cannot be read`, { cause })
  }
}
