import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import type { EsimParts } from '../parts.ts'

const TIMEOUT_MS = 10_000
const STANDARD_PATH = '/gsma/rsp2/es2plus/handleDownloadProgressInfo'

/** Sends JSON to the order system, and gives the HTTP status. Rejects when there is no answer. */
export type PostJson = (body: object, signal: AbortSignal) => Promise<number>

/**
 * Posts to `esim.es2.notify_url`, as the client that `notify_cert` and the secret `notify_key` say. Files are read at each
 * new connection, so that they can be renewed.
 */
export function postToOrderSystem({ context }: EsimParts): PostJson {
  const { notify_url, notify_ca, notify_cert } = context.config.es2
  const agent = new Agent({ keepAlive: true, maxSockets: 4, maxFreeSockets: 1 })
  context.defer(() => agent.destroy())
  return async (body, signal) => {
    const url = new URL(notify_url)
    const key = notify_cert === '' ? undefined : await context.secret('es2.notify_key')
    if (notify_cert !== '' && key === undefined)
      throw new Error('esim.es2.notify_key is missing; svc secret set esim-smdp es2.notify_key < FILE')
    const text = JSON.stringify(body)
    return await new Promise<number>((resolve, reject) => {
      const outgoing = request(
        {
          agent,
          method: 'POST',
          hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
          port: url.port === '' ? 443 : Number(url.port),
          path: url.pathname === '/' ? STANDARD_PATH : `${url.pathname}${url.search}`,
          minVersion: 'TLSv1.2',
          ...(notify_ca !== '' && { ca: readFileSync(notify_ca) }),
          ...(key !== undefined && { cert: readFileSync(notify_cert), key }),
          headers: {
            'content-type': 'application/json',
            'x-admin-protocol': 'gsma/rsp/v2.5.0',
            'content-length': Buffer.byteLength(text),
          },
          signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        },
        (incoming) => {
          // What it says is not looked at.
          incoming.resume()
          incoming.on('error', reject)
          incoming.on('end', () => resolve(incoming.statusCode ?? 0))
        },
      )
      outgoing.on('error', reject)
      outgoing.end(text)
    })
  }
}
