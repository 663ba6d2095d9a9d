import { createServer } from 'node:net'
import { type Finding, notReady, storeUnavailable } from '@steeple/contracts'
import { httpClient } from '@steeple/http-client'
import type { ListenAddress } from '@steeple/settings'
import { isObject } from '../client/service.ts'
import { broken as failed, healthy } from './check.ts'

/** What the service says of itself while it cannot do its work. */
const UNWELL: readonly string[] = [storeUnavailable.code, notReady.code]

const PROBE_MS = 60_000
const MOST_BYTES = 65_536

/** What is at a listen address. */
export interface AtPort {
  readonly check: Finding
  /** Our own service answers there. */
  readonly isOurs: boolean
}

/** Whether the listen address is free, or our own service answers there. */
export async function checkPort(address: ListenAddress, isTls: boolean): Promise<AtPort> {
  const shown = `${address.host === '0.0.0.0' ? '*' : address.host}:${address.port}`
  const who = await whoAt(address, isTls)
  if (who !== undefined) return { check: healthy('listen', `${who} answers on ${shown}`), isOurs: true }
  return { check: await freeOrTaken(address, shown), isOurs: false }
}

async function freeOrTaken(address: ListenAddress, shown: string): Promise<Finding> {
  const code = await bindFault(address)
  if (code === undefined) return healthy('listen', `${shown} is free`)
  const remedy =
    code === 'EADDRINUSE'
      ? 'another program has it; choose another with --listen'
      : 'choose another with --listen'
  return failed('listen', `${shown}: ${code}`, remedy)
}

/** Where a service that listens there is reached from this machine. */
export function urlAt({ host, port }: ListenAddress, isTls: boolean): string {
  const isAny = host === '0.0.0.0' || host === '::'
  const name = isAny ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `${isTls ? 'https' : 'http'}://${name}:${port}`
}

/** The service that answers there, with its version if it is well enough to tell; undefined when none does. */
async function whoAt(address: ListenAddress, isTls: boolean): Promise<string | undefined> {
  try {
    const url = new URL(`${urlAt(address, isTls)}/v1/healthz`)
    // Whoever answers is asked who it is, and told nothing: its certificate is looked at elsewhere.
    const asked = httpClient({ maxBytes: MOST_BYTES, idleMs: 0, connect: { rejectUnauthorized: false } })
    const { text } = await asked.request({ method: 'GET', url }, AbortSignal.timeout(PROBE_MS))
    const body: unknown = JSON.parse(text)
    if (!isObject(body)) return undefined
    if (typeof body.version === 'string') return `svc ${body.version}`
    return isObject(body.error) && UNWELL.includes(String(body.error.code)) ? 'svc, unwell,' : undefined
  } catch {
    return undefined
  }
}

function bindFault({ host, port }: ListenAddress): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}
