import { createServer } from 'node:https'
import type { TLSSocket } from 'node:tls'
import type { Issued } from '@steeple/sgp22'
import { pemOf, serverUnder } from './es2-bed.ts'

/** A step of a download as it was told. */
export interface Told {
  readonly header: { readonly functionRequesterIdentifier: string; readonly functionCallIdentifier: string }
  readonly eid?: string
  readonly iccid: string
  readonly profileType: string
  readonly timestamp: string
  readonly notificationPointId: number
  readonly resultData?: string
  readonly notificationPointStatus: {
    readonly status: string
    readonly statusCodeData?: { readonly subjectCode: string; readonly reasonCode: string }
  }
}
/** An order system that is told. */
export interface Receiver {
  readonly url: string
  /** What it has taken. */
  readonly told: readonly Told[]
  /** How many calls it had, also those that it has failed. */
  calls(): number
  /** What it answers from now on. */
  answer(status: number): void
  /** Names of the clients and paths that were asked for. */
  readonly seen: Set<string>
  stop(): Promise<void>
}

/** Listens with mutual TLS under a CA. */
export async function receiver(ca: Issued): Promise<Receiver> {
  const told: Told[] = []
  const seen = new Set<string>()
  let status = 204
  let calls = 0
  const authority = pemOf(ca.certificate.raw)
  const tls = { ...serverUnder(ca, 'localhost'), ca: authority, requestCert: true, rejectUnauthorized: true }
  const server = createServer(tls, (incoming, outgoing) => {
    incoming.setEncoding('utf8')
    let text = ''
    incoming.on('data', (chunk: string) => {
      text += chunk
    })
    incoming.on('end', () => {
      calls += 1
      const { subject } = (incoming.socket as TLSSocket).getPeerCertificate()
      seen.add(`${subject.CN} ${incoming.method} ${incoming.url} ${incoming.headers['x-admin-protocol']}`)
      if (status === 204) told.push(JSON.parse(text) as Told)
      outgoing.writeHead(status)
      outgoing.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('it has no port')
  return {
    url: `https://localhost:${address.port}`,
    told,
    seen,
    calls: () => calls,
    answer: (next) => {
      status = next
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
