import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { Server as TlsServer } from 'node:tls'

/** Below the ports that Linux gives to connections: one that is free now is not taken by one of them meanwhile. */
const FIRST = 16_000
const LAST = 32_000

/** A server of a test, on a port that was free. */
export interface Listening {
  readonly port: number
  /** `http://host:port`; `https:` of a server with TLS. */
  readonly url: string
  /** Ends the connections of an HTTP server, and waits until nobody is connected any more. */
  close(): Promise<void>
}

/** Lets a server of node's `net`, `http`, `https` or `tls` listen. Rejects when it cannot. */
export async function listen(
  server: Server & { closeAllConnections?(): void },
  host = '127.0.0.1',
): Promise<Listening> {
  await once(server.listen(0, host), 'listening')
  const { port } = server.address() as AddressInfo // of a TCP server that listens
  return {
    port,
    url: `${server instanceof TlsServer ? 'https' : 'http'}://${host}:${port}`,
    close: async () => {
      const closed = new Promise((done) => server.close(done))
      server.closeAllConnections?.()
      await closed
    },
  }
}

/** A port of 127.0.0.1 that nobody listens at, for a program that has to be told its port. */
export async function unusedPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
