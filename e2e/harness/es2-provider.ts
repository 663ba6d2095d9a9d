import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { text } from 'node:stream/consumers'
import { listen } from '@steeple/testkit'
import { openWorkshop } from './tls-witness.ts'

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

/** Starts one on this machine, with certificates of an authority of its own. */
export async function startEs2Provider(): Promise<Es2Provider> {
  const workshop = openWorkshop()
  const ca = workshop.ca('Provider CA')
  const own = workshop.leaf('server', ca, ['subjectAltName=IP:127.0.0.1'])
  const client = workshop.leaf('client', ca, ['basicConstraints=CA:FALSE'])
  const profiles: Es2Provider['profiles'] = new Map()
  let received = ''
  const tls = { ca: readFileSync(ca.cert), cert: readFileSync(own.cert), key: readFileSync(own.key) }
  const server = createServer(
    { ...tls, requestCert: true, rejectUnauthorized: true },
    async (request, response) => {
      const body = await text(request)
      received += `${request.url} ${body}\n`
      const done = executed(profiles, request.url?.split('/').at(-1) ?? '', JSON.parse(body))
      response.writeHead(200, { 'content-type': 'application/json', 'x-admin-protocol': 'gsma/rsp/v2.5.0' })
      response.end(JSON.stringify(done))
    },
  )
  const { url, close } = await listen(server)
  return {
    url,
    profiles,
    received: () => received,
    files: { ca: ca.cert, ...client },
    stop: async () => {
      await close()
      workshop.remove()
    },
  }
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
