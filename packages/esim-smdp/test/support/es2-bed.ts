import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Issued, issueCi, issueEuicc, issueTls } from '@steeple/sgp22'
import { assert, type TempDir, type Testbed, tempDir, unusedPort } from '@steeple/testkit'
import { createEuicc, type Euicc } from '@steeple/virtual-euicc'
import { pemOf } from '../../src/certs/held.ts'
import { readTemplate } from '../../src/profile/template-in-force.ts'
import { startBed } from './bed.ts'
import { eidOf, type Pki, pki } from './pki.ts'
import { codeOf } from './world.ts'

/** Certificate and key of a client, PEM. */
export interface ClientKeys {
  readonly cert: string
  readonly key: string
}
/** An answer: HTTP status, `ok` or `subject/reason`, and its members. */
export interface Es2Reply {
  readonly status: number
  readonly code: string
  readonly body: Readonly<Record<string, string>>
  readonly message: string
}
/** An order system with its own certificate. */
export interface OrderSystem {
  readonly keys: ClientKeys
  /** One call; each has an identifier of its own unless one is given. */
  call(name: string, body: object, callId?: string): Promise<Es2Reply>
  /** Octets as they are, without a header being put before them. */
  send(name: string, octets: string): Promise<Es2Reply>
  close(): void
}
/** A service with an ES2+ listener. */
export interface Es2Bed {
  readonly bed: Testbed
  readonly dir: TempDir
  readonly port: number
  readonly pki: Pki
  readonly clientCa: Issued
  client(commonName: string, ca?: Issued, validity?: Validity): ClientKeys
  system(commonName: string): OrderSystem
  /** One of the other authority whose clients may order. */
  systemOfOther(commonName: string): OrderSystem
  euicc(number: number): Euicc
  /** A SIM of `POST /v1/sims`, by its ICCID. */
  sim(body?: object): Promise<{ readonly hash: string; readonly iccid: string }>
  stop(): Promise<void>
}
interface Validity {
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

export const HOST = 'smdp.example.org'
const ALWAYS: Validity = { notBeforeMs: Date.UTC(2020, 0, 1), notAfterMs: Date.UTC(2049, 0, 1) }

export function keyPem({ key }: Issued): string {
  return String(key.export({ type: 'pkcs8', format: 'pem' }))
}
export function newCa(commonName: string): Issued {
  return issueCi('P-256', {
    ...ALWAYS,
    subject: { organization: 'Steeple test', commonName },
    registeredId: '2.999.7',
  })
}
/** Keys of a client under a CA. */
export function clientUnder(ca: Issued, commonName: string, validity: Validity = ALWAYS): ClientKeys {
  const issued = issueEuicc(ca, { ...validity, subject: { organization: 'BSS', commonName } })
  return { cert: pemOf(issued.certificate.raw), key: keyPem(issued) }
}
/** A server certificate under a CA, PEM. */
export function serverUnder(ca: Issued, host: string): ClientKeys {
  const issued = issueTls(ca, {
    ...ALWAYS,
    organization: 'Test',
    hosts: [host, '127.0.0.1'],
    registeredId: '2.999.10',
  })
  return { cert: pemOf(issued.certificate.raw), key: keyPem(issued) }
}

export async function startEs2(
  es2: Readonly<Record<string, unknown>> = {},
  hierarchy: Pki = pki('P-256'),
  more: (clientCa: string) => Readonly<Record<string, unknown>> = () => ({}),
): Promise<Es2Bed> {
  const dir = await tempDir('es2-')
  const clientCa = newCa('Order systems')
  const caFile = join(dir.path, 'clients.pem')
  const otherCa = newCa('Other order systems')
  writeFileSync(caFile, pemOf(clientCa.certificate.raw) + pemOf(otherCa.certificate.raw))
  const port = await unusedPort()
  const tls = serverUnder(hierarchy.ci, HOST)
  const template = readTemplate('')
  const bed = await startBed(
    { smdp_address: HOST, es2: { listen: `127.0.0.1:${port}`, client_ca: caFile, ...es2 }, ...more(caFile) },
    {},
    {
      certs: {
        identities: () => [hierarchy.identity],
        identity: () => hierarchy.identity,
        identitiesHeld: () => [hierarchy.identity],
        isRevoked: () => false,
        tls: () => tls,
        reload: async () => undefined,
      },
      template: () => template,
    },
  )
  return {
    bed,
    dir,
    port,
    pki: hierarchy,
    clientCa,
    client: (name, ca = clientCa, validity = ALWAYS) => clientUnder(ca, name, validity),
    system: (name) => orderSystem(port, hierarchy, clientUnder(clientCa, name)),
    systemOfOther: (name) => orderSystem(port, hierarchy, clientUnder(otherCa, name)),
    euicc: (number) => createEuicc({ eid: eidOf(number), chains: [hierarchy.chain(eidOf(number))] }),
    sim: (body = {}) => simOf(bed, body),
    stop: async () => {
      await bed.stop()
      await dir.remove()
    },
  }
}

async function simOf(bed: Testbed, body: object): Promise<{ readonly hash: string; readonly iccid: string }> {
  const { simIssuerRef } = await import('@steeple/contracts')
  const issued = await bed.request('POST', '/v1/sims', { body })
  assert.is(issued.status, 201, JSON.stringify(issued.body))
  // The edge of a testbed checks its answers.
  const hash = (issued.body as { readonly first: { readonly imsi_sha256_12: string } }).first.imsi_sha256_12
  const credentials = await bed.service(simIssuerRef)?.credentials(hash as never)
  return { hash, iccid: Buffer.from(credentials?.iccid ?? []).toString() }
}

/** An order system that calls by TLS. */
export function orderSystem(port: number, hierarchy: Pki, keys: ClientKeys): OrderSystem {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const send = (name: string, octets: string): Promise<Es2Reply> =>
    new Promise((resolve, reject) => {
      const outgoing = request(
        {
          ...{ agent, host: '127.0.0.1', port, servername: HOST, method: 'POST' },
          ...{ ca: pemOf(hierarchy.ci.certificate.raw), cert: keys.cert, key: keys.key },
          path: `/gsma/rsp2/es2plus/${name}`,
          headers: { 'content-type': 'application/json', 'x-admin-protocol': 'gsma/rsp/v2.5.0' },
        },
        (incoming) => {
          text(incoming).then((body) => resolve(replyOf(incoming.statusCode ?? 0, body)), reject)
        },
      )
      outgoing.on('error', reject)
      outgoing.end(octets)
    })
  return {
    keys,
    send,
    call: (name, body, callId = randomUUID()) => {
      const header = { functionRequesterIdentifier: '2.999.99', functionCallIdentifier: callId }
      return send(name, JSON.stringify({ header, ...body }))
    },
    close: () => agent.destroy(),
  }
}

function replyOf(status: number, text: string): Es2Reply {
  if (text === '') return { status, code: '-', body: {}, message: '' }
  // As the listener answers.
  const answer = JSON.parse(text) as {
    readonly header: { readonly functionExecutionStatus: { readonly statusCodeData?: { message?: string } } }
  } & Record<string, string>
  const { header, ...body } = answer
  const message = header.functionExecutionStatus.statusCodeData?.message ?? ''
  return { status, code: codeOf(answer), body, message }
}
