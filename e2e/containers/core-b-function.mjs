// One network function of free5GC in a container: reads its rendered file, registers before it opens its port as the real
// ones do, and answers there. Any request is a 404; the NRF takes profiles, over HTTP/1.1 and HTTP/2 without TLS.
// Usage: node core-b-function.mjs ROLE FILE. It refuses a file with the text of /var/lib/core/refused.json, by role.
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createServer as createHttp1 } from 'node:http'
import { createServer as createHttp2 } from 'node:http2'
import { createServer } from 'node:net'
import { parse } from 'yaml'

const [role = '', file = ''] = process.argv.slice(2)
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

/** Takes its place among those that others find, as the real ones do, for as long as the NRF is away again and again. */
async function register({ nrfUri, sbi }, then) {
  const nfInstanceId = randomUUID()
  const nfType = role.toUpperCase()
  const profile = { nfInstanceId, nfType, nfStatus: 'REGISTERED', ipv4Addresses: [sbi.bindingIPv4] }
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
  return setTimeout(register, RETRY_MS, { nrfUri, sbi }, then)
}

process.on('SIGTERM', () => process.exit(0))
const configuration = read()
if (role === 'upf') setInterval(() => undefined, 60_000)
else if (role === 'nrf') open(configuration.sbi)
else await register(configuration, () => open(configuration.sbi))
