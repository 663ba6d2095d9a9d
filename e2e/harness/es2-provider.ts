import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** An SM-DP+ of somebody else: ES2+ with mutual TLS. It refuses as pySim's Es2pApiServerSmdpp and SGP.22 §5.3 do. */
export interface Es2Provider {
  readonly url: string
  /** ICCIDs that it has a profile of, and how far each is ordered. */
  readonly profiles: Map<string, 'available' | 'allocated' | 'released'>
  /** Everything that came, for a search. */
  received(): string
  /** Files for its customers, PEM. */
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string }
  stop(): Promise<void>
}

function openssl(folder: string, args: readonly string[]): void {
  execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
}

/** An authority, and certificates of it for the server and a client. */
function certificatesIn(folder: string): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  openssl(folder, ['req', '-x509', ...key, '-subj', '/CN=Provider CA', '-keyout', 'ca.key', '-out', 'ca.pem'])
  writeFileSync(join(folder, 'names'), 'subjectAltName=IP:127.0.0.1')
  for (const name of ['server', 'client']) {
    openssl(folder, [
      'req',
      ...key.slice(0, 5),
      '-subj',
      `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
    ])
    openssl(folder, [
      ...['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
      ...['-days', '2', '-extfile', 'names', '-out', `${name}.pem`],
    ])
  }
}

/** Starts one on this machine, with its certificates in that folder. */
export async function startEs2Provider(folder: string): Promise<Es2Provider> {
  certificatesIn(folder)
  const read = (name: string): Buffer => readFileSync(join(folder, name))
  const profiles: Es2Provider['profiles'] = new Map()
  let received = ''
  const tls = { ca: read('ca.pem'), cert: read('server.pem'), key: read('server.key'), requestCert: true }
  const server = createServer({ ...tls, rejectUnauthorized: true }, async (request, response) => {
    const text = await textOf(request)
    received += `${request.url} ${text}\n`
    const done = executed(profiles, request.url?.split('/').at(-1) ?? '', JSON.parse(text))
    response.writeHead(200, { 'content-type': 'application/json', 'x-admin-protocol': 'gsma/rsp/v2.5.0' })
    response.end(JSON.stringify(done))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `https://127.0.0.1:${port}`,
    profiles,
    received: () => received,
    files: { ca: join(folder, 'ca.pem'), cert: join(folder, 'client.pem'), key: join(folder, 'client.key') },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}

interface Members {
  readonly iccid: string
  readonly finalProfileStatusIndicator?: string
}

function executed(profiles: Es2Provider['profiles'], name: string, { iccid, ...members }: Members): object {
  const number = iccid.replace(/F$/, '')
  const stage = profiles.get(number)
  if (stage === undefined) return refused('8.2.1', '3.9')
  if (name === 'downloadOrder') {
    if (stage !== 'available') return refused('8.2.1', '3.3')
    profiles.set(number, 'allocated')
    return success({ iccid })
  }
  if (name === 'confirmOrder') {
    if (stage !== 'allocated') return refused('8.2.1', '3.3')
    profiles.set(number, 'released')
    return success({ matchingId: `PROVIDED-${number.slice(-8)}`, smdpAddress: 'rsp.provider.example' })
  }
  if (stage === 'available') return refused('8.2.1', '3.3')
  if (members.finalProfileStatusIndicator === 'Available') profiles.set(number, 'available')
  else profiles.delete(number)
  return success({})
}

function success(members: Readonly<Record<string, string>>): object {
  return { header: { functionExecutionStatus: { status: 'Executed-Success' } }, ...members }
}

function refused(subjectCode: string, reasonCode: string): object {
  const statusCodeData = { subjectCode, reasonCode }
  return { header: { functionExecutionStatus: { status: 'Failed', statusCodeData } } }
}
