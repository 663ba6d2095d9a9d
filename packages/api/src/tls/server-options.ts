import { constants } from 'node:crypto'
import {
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls'
import { BOX_SERVER_NAME } from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'
import type { EdgeTls, TlsMaterial } from '../edge-options.ts'
import type { Connections } from '../host/connection.ts'

/** Forward secrecy and authenticated encryption alone; the first line is TLS 1.3, whose order is fixed. */
const CIPHERS: string = [
  'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/**
 * What the listener presents and demands as things stand now: for the start and for `setSecureContext`, which keeps nothing
 * of what was set before.
 *
 * The names of the trusted CAs go out with the request for a certificate, so that a browser that has none of them asks
 * nobody for one (RFC 8446 §4.2.4).
 */
export function secureContextOf(tls: EdgeTls): SecureContextOptions {
  const { key, cert } = tls.material()
  return contextOf(tls, { key, cert })
}

function contextOf(
  tls: EdgeTls,
  pair: { readonly key: string; readonly cert: string },
): SecureContextOptions {
  const { nodesCa, operatorsCa } = tls.material()
  return {
    ...pair,
    ca: nodesCa === operatorsCa ? [operatorsCa] : [nodesCa, operatorsCa],
    minVersion: tls.minVersion,
    ciphers: CIPHERS,
    // Who presented one certificate is not to present another on the same connection.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  }
}

/** The options of the server: clients are asked for a certificate, and let in to be told what is wrong with it. */
export function tlsOptionsOf(tls: EdgeTls, handshakeTimeout: number): TlsOptions {
  return {
    ...secureContextOf(tls),
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout,
    ALPNProtocols: ['http/1.1'],
    SNICallback: contextByName(tls),
  }
}

/** Boxes are shown the certificate whose CA they hold, whatever people are shown. */
function contextByName(tls: EdgeTls): NonNullable<TlsOptions['SNICallback']> {
  let made: { readonly of: TlsMaterial; readonly context: SecureContext } | undefined
  return (name, done) => {
    const material = tls.material()
    if (name !== BOX_SERVER_NAME || material.boxes === undefined) return done(null)
    try {
      if (made?.of !== material)
        made = { of: material, context: createSecureContext(contextOf(tls, material.boxes)) }
      done(null, made.context)
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
    }
  }
}

/**
 * Ends open connections whose certificates are revoked, expired or from a CA that is not believed any more, from now until
 * the listener goes down: after each commit, and by the clock since a certificate also ends by itself.
 *
 * One with a request under way, or with none yet, has until the next look: the answer of a node's own `leave` goes out, and
 * who comes with a bad certificate is told what is wrong with it.
 */
export function endFallen(
  { kernel, certificates, limits, shutdown }: EdgeCore,
  connections: Connections,
): void {
  let isDue = false
  let isLooking = false
  let lookedMs = kernel.clock.monotonicMs()
  let doomed: ReadonlySet<TLSSocket> = new Set()
  const look = async (): Promise<void> => {
    const found = await certificates.fallen()
    const later = new Set<TLSSocket>()
    for (const socket of found) {
      if (connections.isAnswered(socket) || doomed.has(socket)) socket.destroy()
      else later.add(socket)
    }
    doomed = later
    if (found.length > 0)
      kernel.log.info(
        { connections: found.length },
        'connections of certificates that are not believed ended',
      )
  }
  const lookWhenDue = async (): Promise<void> => {
    const nowMs = kernel.clock.monotonicMs()
    if (isLooking || (!isDue && doomed.size === 0 && nowMs - lookedMs < limits.certificatesMs)) return
    isLooking = true
    isDue = false
    lookedMs = nowMs
    try {
      await look()
    } catch (error) {
      kernel.log.warn({ err: error }, 'certificates of open connections could not be looked at')
    } finally {
      isLooking = false
    }
  }
  kernel.outbox.onCommit(() => {
    isDue = true
  }, shutdown)
  const timer = setInterval(() => void lookWhenDue(), limits.recheckMs).unref()
  shutdown.addEventListener('abort', () => clearInterval(timer), { once: true })
}
