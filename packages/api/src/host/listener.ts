import { randomUUID } from 'node:crypto'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import {
  headersTooLarge,
  methodNotAllowed,
  requestTimeout,
  type ServiceError,
  validationFailed,
} from '@steeple/contracts'
import type { EdgeLimits, EdgeTls } from '../edge-options.ts'
import { errorBody } from '../pipeline/error-mapping.ts'
import { securityHeaders } from '../pipeline/security-headers.ts'
import { tlsOptionsOf } from '../tls/server-options.ts'
import type { ConnectionQueues } from './connection-queue.ts'

/** Connections that are closing and those that take their place. */
const SPARE_CONNECTIONS = 64
/** How often connections are looked at for late headers. */
const CHECK_INTERVAL_MS = 1_000

/** What routes can have; `CONNECT` alone does not reach them. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'

/** Handles one request. */
export type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void

/** The HTTP or HTTPS server, bounded against clients that are slow, loud or not speaking HTTP. */
export function createServer(
  listener: Listener,
  queues: ConnectionQueues,
  limits: EdgeLimits,
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
      ? http.createServer(options, listener)
      : https.createServer({ ...options, ...tlsOptionsOf(tls, limits.headersTimeoutMs) }, listener)
  // Node would hand what is not TLS on to be answered: it is closed, and nobody is told anything in the clear.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (_error, socket: Socket) => socket.destroy())
  // One more than there may be: whoever comes to a full house makes room for itself.
  server.maxConnections = limits.connections + SPARE_CONNECTIONS
  // Without this listener node would invite the body before anyone has looked at the credential.
  server.on('checkContinue', listener)
  server.on('checkExpectation', listener)
  // The server is over TCP or TLS: its streams are sockets.
  const refuse = (stream: unknown, error: ServiceError): void => {
    const socket = stream as Socket
    queues.of(socket).afterAnswers(() => endWith(socket, rawAnswer(error, tls !== undefined)))
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
function endWith(socket: Socket, answer: string): void {
  if (socket.writable) socket.end(answer, () => socket.destroy())
  else socket.destroy()
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
