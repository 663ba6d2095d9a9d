// The load generator's own process: gets one request by message, answers with one result, ends.
import autocannon from 'autocannon'
import type { LoadRequest } from './measure.ts'

process.once('message', async (message) => {
  // measure.ts sends exactly this.
  const request = message as LoadRequest
  const result = await autocannon({
    url: request.url,
    connections: request.connections,
    duration: request.seconds,
    method: request.method ?? 'GET',
    ...(request.headers === undefined ? {} : { headers: { ...request.headers } }),
    ...(request.body === undefined ? {} : { body: request.body }),
  })
  process.send?.({
    perSecond: result['2xx'] / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    non2xx: result.non2xx,
    errors: result.errors,
    total: result['2xx'],
  })
  process.disconnect()
})
