import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { REGISTRATIONS } from '../../src/verify/probe.ts'
import { recording } from './recordings.ts'

/** A service bus: an AMF that is told of deregistrations and an NRF that lists functions. HTTP/2 in the clear only. */
export interface StandInBus {
  origin: string
  /** What the AMF was told: path and body. */
  readonly told: { readonly path: string; readonly body: string; readonly headers: readonly string[] }[]
  /** What it answers, by SUPI. */
  answer: (supi: string) => number
  /** Types that are registered at the NRF. */
  types: readonly string[]
  /** Services that are not registered although their function is. */
  readonly withdrawn: Set<string>
  close(): Promise<void>
}

const LIST = '/nnrf-nfm/v1/nf-instances'

/** Starts one on a port of its own. */
export async function standInBus(): Promise<StandInBus> {
  const server = createServer()
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
  })
  const bus: StandInBus = {
    origin: '',
    told: [],
    answer: () => 204,
    withdrawn: new Set(),
    types: ['AMF', 'SMF', 'AUSF', 'UDM', 'UDR', 'PCF', 'NSSF', 'BSF'],
    close: () => closed(server, sessions),
  }
  server.on('stream', (stream, headers) => {
    const path = String(headers[':path'])
    const names = Object.keys(headers).filter((name) => !name.startsWith(':'))
    stream.on('error', () => undefined)
    if (headers[':method'] === 'GET') answerNrf(bus, path, stream)
    else {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        bus.told.push({ path, body: Buffer.concat(chunks).toString('utf8'), headers: names })
        const supi = /imsi-[0-9]+/.exec(path)?.[0] ?? ''
        stream.respond({ ':status': bus.answer(supi), server: 'Open5GS v2.8.0' })
        stream.end()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address === 'object' && address !== null) bus.origin = `http://127.0.0.1:${address.port}`
  return bus
}

/** The list has links to its own host, as the recorded one. */
function answerNrf(bus: StandInBus, path: string, stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200 })
  if (path === LIST) {
    const item = bus.types.map((_type, index) => ({ href: `http://127.0.0.10:7777${LIST}/${index}` }))
    stream.end(JSON.stringify({ _links: { item } }))
    return
  }
  const profile = JSON.parse(/\{"nfInstanceId".*\}/.exec(recording('nrf-nf-instances.http.txt'))?.[0] ?? '{}')
  const nfType = bus.types[Number(path.split('/').at(-1))]
  const services = Object.values(REGISTRATIONS).find(({ type }) => type === nfType)?.services ?? []
  // One release names them in a list, another by their identities.
  const nfServices = services
    .filter((serviceName) => !bus.withdrawn.has(serviceName))
    .map((serviceName) => ({ serviceName, nfServiceStatus: 'REGISTERED' }))
  const told =
    nfType === 'UDM' ? { nfServices, nfServiceList: undefined } : { nfServiceList: { ...nfServices } }
  stream.end(JSON.stringify({ ...profile, ...told, nfType }))
}

async function closed(server: Http2Server, sessions: ReadonlySet<ServerHttp2Session>): Promise<void> {
  for (const session of sessions) session.destroy()
  await new Promise((resolve) => server.close(resolve))
}
