// What benches have in processes of their own, so that its work is not theirs: node programs.ts NAME. Each gets what it has to know in a
// message and says in another what came of it, or where it listens.
import { createWriteStream } from 'node:fs'
import http, { type RequestListener } from 'node:http'
import https from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { listen } from '@steeple/testkit'
import type { LoadRequest } from './bench.ts'

/** New connections, each with a client certificate and one request. */
export interface HandshakeLoad {
  readonly port: number
  readonly path: string
  readonly cert: string
  readonly key: string
  readonly ca: string
  readonly connections: number
  readonly seconds: number
}

/** What came of them: those that ended in an answer, by status. */
export interface HandshakeResult {
  readonly perSecond: number
  readonly total: number
  readonly statuses: Readonly<Record<string, number>>
  readonly failures: number
}

/** Where and how to take a backup, and into which file. */
export interface BackupWish {
  readonly url: string
  readonly token: string
  readonly passphrase: string
  readonly file: string
}

// Each is called with what its bench sends.
const PROGRAMS: Readonly<Record<string, (message: never) => Promise<unknown>>> = {
  load: sendLoad,
  handshakes: sendHandshakes,
  'bare-read': serveBareRead,
  'bare-tls': serveBareTls,
  'info-pages': (message: { readonly phones: number }) => urlOf(http.createServer(infoPages(message))),
  'oam-pages': (message: { readonly phones: number }) => urlOf(http.createServer(oamPages(message))),
  backup: takeBackup,
}

const urlOf = async (server: http.Server | https.Server): Promise<string> => (await listen(server)).url

const name = process.argv[2] ?? ''
process.on('disconnect', () => process.exit(0))
process.once('message', async (message) => process.send?.(await PROGRAMS[name]?.(message as never)))

async function sendLoad({ url, connections, seconds, token, body }: LoadRequest): Promise<object> {
  const { default: autocannon } = await import('autocannon')
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { non2xx, errors } = result
  return {
    perSecond: result['2xx'] / result.duration,
    p99: result.latency.p99,
    non2xx,
    errors,
    total: result['2xx'],
  }
}

/** As fast as so many at a time can. */
async function sendHandshakes({ connections, seconds, ...target }: HandshakeLoad): Promise<HandshakeResult> {
  const statuses: Record<string, number> = {}
  let total = 0
  let failures = 0
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      const request = https.get({ host: '127.0.0.1', agent: false, ...target }, (response) => {
        total += 1
        statuses[response.statusCode ?? 0] = (statuses[response.statusCode ?? 0] ?? 0) + 1
        response.resume().on('close', resolve)
      })
      request.on('error', () => {
        failures += 1
        resolve()
      })
    })
  const startedAt = performance.now()
  const worker = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1_000) await one()
  }
  await Promise.all(Array.from({ length: connections }, worker))
  return { perSecond: total / ((performance.now() - startedAt) / 1_000), total, statuses, failures }
}

/** The ceiling of a read: a fastify route with the same schemas and the same prepared read, and nothing else. */
async function serveBareRead(message: {
  readonly database: string
  readonly schema: object
  readonly body: object
}): Promise<string> {
  const { default: Database } = await import('better-sqlite3')
  const { default: fastify } = await import('fastify')
  const find = new Database(message.database, { readonly: true }).prepare(
    'select * from nodes_node where node_id = ?',
  )
  const app = fastify({ logger: false })
  const params = {
    type: 'object',
    additionalProperties: false,
    required: ['id'],
    properties: { id: { type: 'string', pattern: '^[0-9a-f-]{36}$' } },
  }
  app.get<{ Params: { id: string } }>(
    '/v1/nodes/:id/enroll',
    { schema: { params, response: { 200: message.schema } } },
    async (request, reply) =>
      find.get(request.params.id) === undefined ? await reply.code(404).send() : message.body,
  )
  return await app.listen({ host: '127.0.0.1', port: 0 })
}

/** The ceiling of a handshake: node's own HTTPS server with the same keys and demands, and nothing behind it. */
async function serveBareTls(keys: https.ServerOptions): Promise<string> {
  const answer: RequestListener = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}')
  }
  return await urlOf(
    https.createServer(
      { ...keys, requestCert: true, minVersion: 'TLSv1.3', keepAliveTimeout: 60_000 },
      answer,
    ),
  )
}

const digits = (n: number): string => String(n).padStart(10, '0')

/** The lists of MME and SMF of a core with so many phones. */
function infoPages({ phones }: { readonly phones: number }): RequestListener {
  const size = 100
  const ueItem = (n: number) => ({
    supi: `99999${digits(n)}`,
    domain: 'EPS',
    rat: 'E-UTRA',
    cm_state: n % 2 === 0 ? 'connected' : 'idle',
    mm_state: 'registered',
    enb: { ostream_id: 1, mme_ue_ngap_id: n, ran_ue_ngap_id: n, enb_id: 348_004, cell_id: 17_275_823 },
    location: { tai: { plmn: '99999', tac_hex: '0001', tac: 1 }, timestamp: 1_795_175_304_512_721 },
    ambr: { downlink: 1_000_000_000, uplink: 1_000_000_000 },
    pdn: [{ apn: 'internet', qos_flows: [{ ebi: 5 }], qci: 9, ebi: 5, bearer_count: 1, pdu_state: 'active' }],
    pdn_count: 1,
  })
  const pduItem = (n: number) => ({
    supi: `imsi-99999${digits(n)}`,
    pdu: [
      {
        ...{ ebi: 5, apn: 'internet', ipv4: `10.45.${n >> 8}.${n & 255}` },
        ipv6: `2001:db8:${(n >> 8).toString(16)}:${(n & 255).toString(16)}::2`,
        snssai: { sst: 0, sd: '000000' },
        qos_flows: [{ ebi: 5, qci: 9 }],
        ...{ pdu_state: 'unknown', ue_location_timestamp: 0 },
      },
    ],
    ue_activity: 'unknown',
  })
  return ({ url = '/' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://core')
    const page = Number(searchParams.get('page'))
    const from = page * size
    const count = Math.max(0, Math.min(size, phones - from))
    const itemOf = pathname === '/ue-info' ? ueItem : pduItem
    const items = Array.from({ length: count }, (_, index) => itemOf(from + index))
    const next = from + size < phones ? { next: `${pathname}?page=${page + 1}` } : {}
    response.setHeader('connection', 'close')
    response.end(JSON.stringify({ items, pager: { page, page_size: size, count, ...next } }))
  }
}

/** The lists of AMF and SMF of a free5GC core with so many phones. */
function oamPages({ phones }: { readonly phones: number }): RequestListener {
  const phone = (n: number) => ({
    AccessType: '3GPP_ACCESS',
    Supi: `imsi-99970${digits(n)}`,
    ...{ Guti: '99970cafe0000000001', Mcc: '999', Mnc: '70', Tac: '000007' },
    PduSessions: [
      {
        PduSessionId: '1',
        SmContextRef: `urn:uuid:00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
        ...{ Sst: '1', Sd: '010203', Dnn: 'internet' },
      },
    ],
    CmState: n % 2 === 0 ? 'CONNECTED' : 'IDLE',
  })
  const list = phones === 0 ? 'null' : JSON.stringify(Array.from({ length: phones }, (_, n) => phone(n)))
  const session = (n: number): string =>
    JSON.stringify({
      Supi: `imsi-99970${digits(n)}`,
      ...{ PDUSessionID: '1', Dnn: 'internet', Sst: '1', Sd: '010203', AnType: '3GPP_ACCESS' },
      PDUAddress: `10.${60 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`,
      ...{ SessionRule: { sessRuleId: '' }, UpCnxState: 'ACTIVATED' },
      Tunnel: { PathIDGenerator: null, DataPathPool: null, ANInformation: { IPAddress: '', TEID: 0 } },
    })
  return ({ url = '' }, response) => {
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.end(url.startsWith('/namf-oam/') ? list : session(Number(url.slice(-12))))
  }
}

/** Ready at once; takes the backup at the next word. What it collects of garbage would delay the reads of its bench. */
async function takeBackup({ url, token, passphrase, file }: BackupWish): Promise<string> {
  process.once('message', async () => {
    const from = performance.now()
    const headers = { authorization: `Bearer ${token}`, 'x-backup-passphrase': passphrase }
    const response = await fetch(`${url}/v1/backup`, { headers })
    if (response.status !== 200 || response.body === null)
      throw new Error(`no backup: ${response.status} ${await response.text()}`)
    await pipeline(Readable.fromWeb(response.body), createWriteStream(file))
    process.send?.((performance.now() - from) / 1_000)
  })
  return 'ready'
}
