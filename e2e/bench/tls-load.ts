// New connections, each with a client certificate and one request, as fast as so many at a time can.
import https from 'node:https'

/** What tls.ts asks for. */
export interface HandshakeLoad {
  readonly port: number
  readonly path: string
  readonly cert: string
  readonly key: string
  readonly ca: string
  readonly connections: number
  readonly seconds: number
}

/** What came of it: handshakes that ended in an answer, by status. */
export interface HandshakeResult {
  readonly perSecond: number
  readonly total: number
  readonly statuses: Readonly<Record<string, number>>
  readonly failures: number
}

process.once('message', async (message) => {
  const { connections, seconds, ...target } = message as HandshakeLoad
  const statuses: Record<string, number> = {}
  let total = 0
  let failures = 0
  const once = (): Promise<void> =>
    new Promise((resolve) => {
      const request = https.get({ host: '127.0.0.1', agent: false, ...target }, (response) => {
        total += 1
        statuses[response.statusCode ?? 0] = (statuses[response.statusCode ?? 0] ?? 0) + 1
        response.resume().on('close', resolve)
      })
      request.on('error', () => {
        failures += 1
        resolve()
      })
    })
  const startedAt = performance.now()
  const worker = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1_000) await once()
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const perSecond = total / ((performance.now() - startedAt) / 1_000)
  process.send?.({ perSecond, total, statuses, failures } satisfies HandshakeResult)
  process.disconnect()
})
