import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { configInvalid, type Log } from '@steeple/contracts'
import { isLoopback } from '@steeple/settings'
import type { EdgeLimits, EdgeTls } from '../edge-options.ts'
import type { ClientCertificates } from '../tls/client-certificates.ts'
import { secureContextOf } from '../tls/server-options.ts'
import type { ConnectionQueues } from './connection-queue.ts'
import type { Connections } from './connections.ts'
import { listenAddressFrom, listenProblem } from './listen-address.ts'
import { createServer, type Listener } from './listener.ts'

/** What the listeners are made of. */
export interface ListenerParts {
  readonly take: Listener
  readonly queues: ConnectionQueues
  readonly connections: Connections
  readonly certificates: ClientCertificates
  readonly limits: EdgeLimits
  readonly tls: EdgeTls | undefined
  readonly log: Log
}

/** Where to listen; `plain` is empty for nowhere. */
export interface ListenWishes {
  readonly main: string
  readonly plain: string
}

/** The port of the API, and the plain one on loopback where one is wished for. */
export interface Listeners {
  /** Opens both or none. Throws `config_invalid`. */
  listen(wishes: ListenWishes): Promise<AddressInfo>
  address(): AddressInfo | undefined
  plainAddress(): AddressInfo | undefined
  /** Takes no more connections; resolves when all are gone. */
  close(): Promise<void>
  closeAllConnections(): void
}

/** Listeners that share their requests, connections and bounds. Nothing listens yet. */
export function createListeners(parts: ListenerParts): Listeners {
  const { take, queues, connections, limits, tls } = parts
  const serve = (its: EdgeTls | undefined): Server => {
    const server = createServer(take, queues, limits, its)
    server.on('connection', (socket: Socket) => connections.add(socket))
    return server
  }
  const main = serve(tls)
  let plain: Server | undefined
  main.on('secureConnection', (socket: TLSSocket) => {
    connections.secure(socket)
    parts.certificates.connected(socket)
  })
  main.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    // Anybody can make them: for who looks for what is wrong with one client.
    parts.log.debug({ code: error.code, address: socket.remoteAddress }, 'a TLS handshake failed')
  })
  const unfollow = tls === undefined ? undefined : followCertificate(main, tls, parts.log)
  const open = (): readonly Server[] => (plain === undefined ? [main] : [main, plain])
  return {
    listen: async (wishes) => {
      await bind(main, wishes.main, 'server.listen')
      if (wishes.plain !== '') {
        plain = serve(undefined)
        await bindToLoopback(plain, wishes.plain).catch(async (error: unknown) => {
          plain = undefined
          await closed(main)
          throw error
        })
      }
      const bound = addressOf(main)
      if (bound === undefined) throw new Error('the listener has no address')
      return bound
    },
    address: () => addressOf(main),
    plainAddress: () => (plain === undefined ? undefined : addressOf(plain)),
    close: async () => {
      unfollow?.()
      await Promise.all(open().map(closed))
    },
    closeAllConnections: () => {
      for (const server of open()) server.closeAllConnections()
    },
  }
}

/** New connections get the certificate of the moment; open ones keep theirs. */
function followCertificate(server: Server, tls: EdgeTls, log: Log): () => void {
  return tls.onChange(() => {
    try {
      if ('setSecureContext' in server && typeof server.setSecureContext === 'function')
        server.setSecureContext(secureContextOf(tls))
    } catch (error) {
      log.error({ err: error }, 'the renewed certificate could not be used')
    }
  })
}

async function bind(server: Server, text: string, key: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const fail = (error: Error): void => reject(listenProblem(error, text, key))
  server.once('error', fail).listen(listenAddressFrom(text, key), resolve)
  await promise
  server.off('error', fail)
}

/** A name is looked up when it is bound: what came of it decides. */
async function bindToLoopback(server: Server, text: string): Promise<void> {
  const wished = listenAddressFrom(text, 'server.plain_listen')
  if (!isLoopback(wished.host)) throw notLoopback(text)
  await bind(server, text, 'server.plain_listen')
  const bound = addressOf(server)
  if (bound !== undefined && isLoopback(bound.address)) return
  await closed(server)
  throw notLoopback(text)
}

function notLoopback(text: string): Error {
  return configInvalid(
    `server.plain_listen is ${text}; allowed is an address of this machine alone, such as 127.0.0.1:8081`,
  )
}

function addressOf(server: Server): AddressInfo | undefined {
  const bound = server.address()
  return typeof bound === 'object' && bound !== null ? bound : undefined
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
