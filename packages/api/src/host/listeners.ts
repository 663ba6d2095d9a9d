import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import {
  configInvalid,
  headersTooLarge,
  type Log,
  methodNotAllowed,
  requestTimeout,
  type ServiceError,
  validationFailed,
} from '@steeple/contracts'
import { isLoopback, type ListenAddress, parseListenAddress } from '@steeple/settings'
import type { EdgeLimits, EdgeTls } from '../edge-options.ts'
import { errorBody, securityHeaders } from '../pipeline/respond.ts'
import type { ClientCertificates } from '../tls/client-certificates.ts'
import { secureContextOf, tlsOptionsOf } from '../tls/server-options.ts'
import { type Connection, type Connections, serveInTurn } from './connection.ts'

/** Connections that are closing and those that take their place. */
const SPARE_CONNECTIONS = 64
/** How often connections are looked at for late headers. */
const CHECK_INTERVAL_MS = 1_000

/** What routes can have; `CONNECT` alone does not reach them. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'

/** The HTTP or HTTPS server, bounded against clients that are slow, loud or not speaking HTTP. */
function createServer(
  { connections, certificates, limits, log }: Omit<ListenerParts, 'tls'>,
  tls: EdgeTls | undefined,
): http.Server {
  const options = {
    keepAliveTimeout: limits.keepAliveMs,
    headersTimeout: limits.headersTimeoutMs,
    // Bodies have bounds of their own: by size and pause, since a restore may take an hour.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, limits.headersTimeoutMs),
    maxHeaderSize: limits.headerBytes,
    // The edge refuses a missing Host itself, in the shape of its errors.
    requireHostHeader: false,
    noDelay: true,
    // A request without a body has none to wait for, and no events of its stream.
    optimizeEmptyRequests: true,
  }
  const server: http.Server =
    tls === undefined
      ? http.createServer(options, serveInTurn)
      : https.createServer({ ...options, ...tlsOptionsOf(tls, limits.headersTimeoutMs) }, serveInTurn)
  // Node would hand what is not TLS on to be answered: it is closed, and nobody is told anything in the clear.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    socket.destroy()
    // Anybody can make them: for who looks for what is wrong with one client.
    log.debug({ code: error.code, address: socket.remoteAddress }, 'a TLS handshake failed')
  })
  // One more than there may be: whoever comes to a full house makes room for itself.
  server.maxConnections = limits.connections + SPARE_CONNECTIONS
  // Node's HTTP server reads and writes a connection of ours, in place of the socket itself.
  const opened = tls === undefined ? 'connection' : 'secureConnection'
  const [accept] = server.listeners(opened)
  server.removeAllListeners(opened)
  server.on('connection', (socket: Socket) => connections.accept(socket))
  server.on(opened, (socket: Socket) => {
    if (socket instanceof TLSSocket) certificates.connected(socket)
    accept?.call(server, connections.open(socket))
  })
  server.setTimeout(limits.streamStallMs, (socket) => (socket as unknown as Connection).timedOut())
  // Without this listener node would invite the body before anyone has looked at the credential.
  server.on('checkContinue', serveInTurn)
  server.on('checkExpectation', serveInTurn)
  const refuse = (stream: unknown, error: ServiceError): void => {
    const connection = stream as Connection
    connection.afterAnswers(() => endWith(connection, rawAnswer(error, tls !== undefined)))
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else refuse(socket, garbageError(error, limits))
  })
  server.on('connect', (_request, socket) => {
    // It is a bare stream from here on: one that breaks must not end the service.
    socket.on('error', () => socket.destroy())
    refuse(socket, methodNotAllowed('CONNECT', METHODS))
  })
  return server
}

/** Answers what is no request for us, once and briefly, and closes. */
function endWith(connection: Connection, answer: string): void {
  if (connection.writable && !connection.hasSaidClose) connection.end(answer, () => connection.destroy())
  else connection.destroy()
}

function garbageError(error: NodeJS.ErrnoException, limits: EdgeLimits): ServiceError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return headersTooLarge(limits.headerBytes)
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout(limits.headersTimeoutMs)
  return validationFailed('the request is not valid HTTP/1.1')
}

/** What is not HTTP has no id of its own: it gets one, as every answer does (contract section 2). */
function rawAnswer(error: ServiceError, isTls: boolean): string {
  const body = JSON.stringify(errorBody(error))
  const reason = http.STATUS_CODES[error.status] ?? 'Error'
  return [
    `HTTP/1.1 ${error.status} ${reason}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    ...securityHeaders(isTls).map(([name, value]) => `${name}: ${value}`),
    ...(error.status === 405 ? [`Allow: ${METHODS}`] : []),
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

/** As `parseListenAddress`. Throws `config_invalid`. */
export function listenAddressFrom(text: string, key = 'server.listen'): ListenAddress {
  const address = parseListenAddress(text)
  if (address === undefined)
    throw configInvalid(`${key} is ${text}; allowed is host:port, :port or [v6]:port`)
  return address
}

/** What keeps the service from listening, in words; other errors as they are. */
function listenProblem(error: NodeJS.ErrnoException, text: string, key: string): Error {
  const why = REASONS[error.code ?? '']
  return why === undefined ? error : configInvalid(`${key} is ${text}: ${why}`, { cause: error })
}

const REASONS: Readonly<Partial<Record<string, string>>> = {
  EADDRINUSE: 'something listens there already; stop it, or give this service another address',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'this user may not listen on that port; take one from 1024 on, or give CAP_NET_BIND_SERVICE',
}

/** What the listeners are made of. */
export interface ListenerParts {
  readonly connections: Connections
  readonly certificates: ClientCertificates
  readonly limits: EdgeLimits
  readonly tls: EdgeTls | undefined
  readonly log: Log
}

/** Where to listen; `plain` is empty for nowhere. */
interface ListenWishes {
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
  const { tls } = parts
  const main = createServer(parts, tls)
  let plain: Server | undefined
  const unfollow = tls === undefined ? undefined : followCertificate(main, tls, parts.log)
  const open = (): readonly Server[] => (plain === undefined ? [main] : [main, plain])
  return {
    listen: async (wishes) => {
      await bind(main, wishes.main, 'server.listen')
      if (wishes.plain !== '') {
        plain = createServer(parts, undefined)
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
