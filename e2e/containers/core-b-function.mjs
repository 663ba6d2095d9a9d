// One network function of free5GC in a container: reads its rendered file, registers before it opens its port as the real
// ones do, and answers there. Any request is a 404; the NRF takes profiles, over HTTP/1.1 and HTTP/2 without TLS.
// Usage: node core-b-function.mjs ROLE FILE [ADDRESS]. It refuses a file with the text of /var/lib/core/refused.json, by role.
// Its profile has its services, as those of the real ones: who finds a function without them looks for no second one. They
// are at ADDRESS where another program answers for them.
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createServer as createHttp1 } from 'node:http'
import { createServer as createHttp2 } from 'node:http2'
import { createServer } from 'node:net'
import { parse } from 'yaml'

const [role = '', file = '', address = ''] = process.argv.slice(2)
const REFUSED = '/var/lib/core/refused.json'
const RETRY_MS = 200
const PROFILE = /^\/nnrf-nfm\/v1\/nf-instances\/[0-9a-f-]{36}$/

function log(level, words) {
  process.stderr.write(`${new Date().toISOString()} [${level}][${role.toUpperCase()}][Main] ${words}\n`)
}

function read() {
  try {
    const text = readFileSync(file, 'utf8')
    const refused = existsSync(REFUSED) ? JSON.parse(readFileSync(REFUSED, 'utf8'))[role] : undefined
    if (refused !== undefined && text.includes(refused)) throw new Error('Config validation Error')
    return parse(text).configuration
  } catch (error) {
    log('FATA', `${role.toUpperCase()} Run Error: ${error.message.split('\n')[0]}`)
    return process.exit(1)
  }
}

function answer(request, response) {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    if (role !== 'nrf' || !PROFILE.test(request.url)) return response.writeHead(404).end('404 page not found')
    if (request.method === 'DELETE') return response.writeHead(204).end()
    const profile = JSON.parse(Buffer.concat(parts).toString('utf8') || '{}')
    const location = `http://${request.headers.host ?? request.headers[':authority']}${request.url}`
    response.writeHead(201, { 'content-type': 'application/json', location })
    return response.end(JSON.stringify({ ...profile, customInfo: { oauth2: false } }))
  })
}

/** A port that takes both: an HTTP/2 client says so in its first bytes. */
function open({ bindingIPv4, port }) {
  const [http1, http2] = [createHttp1(answer), createHttp2(answer)]
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('readable', () => {
      const head = socket.read()
      if (head === null) return socket.destroy()
      socket.unshift(head)
      return (head.toString('latin1', 0, 3) === 'PRI' ? http2 : http1).emit('connection', socket)
    })
  })
  server.on('error', (error) => {
    log('ERRO', `SBI server error: listen tcp ${bindingIPv4}:${port}: bind: ${error.message}`)
    process.exit(1)
  })
  server.listen(port, bindingIPv4, () => log('INFO', `SBI server started on ${bindingIPv4}:${port}`))
}

/** What it offers by its file; the UDR's has no list. */
function services({ sbi, serviceNameList, serviceList }) {
  const names = serviceNameList ?? serviceList?.map(({ serviceName }) => serviceName) ?? [`n${role}-dr`]
  const [ipv4Address, port] = [address || sbi.bindingIPv4, sbi.port]
  return names.map((serviceName) => ({
    serviceInstanceId: `stand-in-${serviceName}`,
    serviceName,
    versions: [{ apiVersionInUri: 'v2', apiFullVersion: '2.0.0' }],
    scheme: 'http',
    nfServiceStatus: 'REGISTERED',
    apiPrefix: `http://${ipv4Address}:${port}`,
    ipEndPoints: [{ ipv4Address, transport: 'TCP', port }],
  }))
}

/** Takes its place among those that others find, as the real ones do, for as long as the NRF is away again and again. */
async function register(configuration, then) {
  const { nrfUri, sbi } = configuration
  const nfInstanceId = randomUUID()
  const nfType = role.toUpperCase()
  const ipv4Addresses = [address || sbi.bindingIPv4]
  const nfServices = services(configuration)
  const profile = { nfInstanceId, nfType, nfStatus: 'REGISTERED', ipv4Addresses, nfServices }
  try {
    const { ok } = await fetch(`${nrfUri}/nnrf-nfm/v1/nf-instances/${nfInstanceId}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(profile),
    })
    if (ok) return then()
  } catch {
    // It is not there yet.
  }
  return setTimeout(register, RETRY_MS, configuration, then)
}

process.on('SIGTERM', () => process.exit(0))
const configuration = read()
if (role === 'upf') setInterval(() => undefined, 60_000)
else if (role === 'nrf') open(configuration.sbi)
else await register(configuration, () => open(configuration.sbi))
