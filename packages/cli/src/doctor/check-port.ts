import { createServer } from 'node:net'
import { exchange } from '../client/exchange.ts'
import { isObject } from '../client/rest-client.ts'
import { type Check, broken as failed, healthy } from './check.ts'

/** A listen address in its parts. */
export interface ListenAddress {
  /** Empty for every address. */
  readonly host: string
  readonly port: number
}

/** `host:port`, `[v6]:port` or `:port`, as the configuration has it. */
export function listenAddress(text: string): ListenAddress {
  const split = text.lastIndexOf(':')
  return { host: text.slice(0, split).replaceAll(/[[\]]/g, ''), port: Number(text.slice(split + 1)) }
}

/** Whether the listen address is free, or our own service answers there. */
export async function checkPort(address: ListenAddress, isTls: boolean): Promise<Check> {
  const shown = `${address.host === '' ? '*' : address.host}:${address.port}`
  const version = await versionAt(address, isTls)
  if (version !== undefined) return healthy('listen', `svc ${version} answers on ${shown}`)
  const code = await bindFault(address)
  if (code === undefined) return healthy('listen', `${shown} is free`)
  const remedy =
    code === 'EADDRINUSE'
      ? 'another program has it; choose another with --listen'
      : 'choose another with --listen'
  return failed('listen', `${shown}: ${code}`, remedy)
}

/** The version of the service that answers there; undefined when none does. */
async function versionAt({ host, port }: ListenAddress, isTls: boolean): Promise<string | undefined> {
  const isAny = host === '' || host === '0.0.0.0' || host === '::'
  const name = isAny ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  try {
    const url = new URL(`${isTls ? 'https' : 'http'}://${name}:${port}/v1/healthz`)
    const { text } = await exchange({ method: 'GET', url, headers: {}, body: undefined })
    const body: unknown = JSON.parse(text)
    return isObject(body) && typeof body.version === 'string' ? body.version : undefined
  } catch {
    return undefined
  }
}

function bindFault({ host, port }: ListenAddress): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ port, ...(host === '' ? {} : { host }), exclusive: true }, () =>
      server.close(() => resolve(undefined)),
    )
  })
}
