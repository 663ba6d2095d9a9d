import http from 'node:http'
import type { Service } from '../service.ts'

/** What the service was like while it was watched. Times in ms, memory in MiB. */
export interface Seen {
  readonly healthzWorstMs: number
  readonly healthzMedianMs: number
  readonly disarmWorstMs: number
  readonly disarmMedianMs: number
  readonly residentMiB: number
  readonly rounds: number
}

const PAUSE_MS = 100
const PATIENCE_MS = 60_000

/** Asks for healthz and disarms, each over a connection of its own, again and again for `forMs`. */
export async function watch(service: Service, forMs: number): Promise<Seen> {
  const healthz: number[] = []
  const disarm: number[] = []
  let residentMiB = 0
  const end = performance.now() + forMs
  do {
    healthz.push(await timed(service, 'GET', '/v1/healthz'))
    disarm.push(await timed(service, 'POST', '/v1/tx/disarm'))
    residentMiB = Math.max(residentMiB, service.residentMiB())
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  } while (performance.now() < end)
  return {
    healthzWorstMs: Math.max(...healthz),
    healthzMedianMs: middle(healthz),
    disarmWorstMs: Math.max(...disarm),
    disarmMedianMs: middle(disarm),
    residentMiB,
    rounds: healthz.length,
  }
}

function timed(service: Service, method: string, path: string): Promise<number> {
  const begunMs = performance.now()
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${service.adminToken}`, connection: 'close' }
    const request = http.request(service.url + path, { method, headers, agent: false }, (answer) => {
      answer.resume()
      answer.once('end', () => {
        if (answer.statusCode === 200) resolve(performance.now() - begunMs)
        else reject(new Error(`${method} ${path} answered ${answer.statusCode}`))
      })
    })
    request.setTimeout(PATIENCE_MS, () => request.destroy(new Error(`${method} ${path}: no answer`)))
    request.once('error', reject)
    request.end()
  })
}

function middle(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}
