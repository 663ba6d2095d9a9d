// One daemon of a core in a container: reads its rendered file as the real one does, refuses with the same words and exit
// codes (recorded from the real ones), takes its addresses, and shows what the real one shows from outside.
// Usage: node core-daemon.mjs ROLE FILE. Phones of the MME and sessions of the SMF: /var/lib/core/{ue,pdu}-info.json. A file
// with the text of /var/lib/core/refused.json, by role, counts as one without a section.
import { existsSync, readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer, isIP } from 'node:net'
import { parse } from 'yaml'

const [role = '', file = ''] = process.argv.slice(2)
const STATE = '/var/lib/core'
/** A service, its port, and where in the section of a daemon its own address is. */
const PORTS = { s1ap: 36_412, gtpc: 2123, pfcp: 8805, gtpu: 2152 }
const DIAMETER_PORT = 3868
const METRICS_PORT = 9090
/** What the MME does not start without, the words, and its exit code. */
const MME_NEEDS = [
  ['freeDiameter', 'mme.freeDiameter', 255],
  ['s1ap.server', 'mme.s1ap.address', 0],
  ['gtpc.server', 'mme.gtpc.address', 0],
  ['gtpc.client.sgwc', 'sgw.gtpc.address', 255],
  ['gtpc.client.smf', 'pgw.gtpc.address', 255],
  ['gummei', 'mme.gummei', 255],
  ['tai', 'mme.tai', 255],
  ['security.integrity_order', 'mme.security.integrity_order', 255],
]

function log(line) {
  const now = new Date().toISOString()
  process.stderr.write(`${now.slice(5, 7)}/${now.slice(8, 10)} ${now.slice(11, 23)}: ${line}\n`)
}

function end(code, ...lines) {
  for (const line of lines) log(line)
  if (code === 255) log('[app] FATAL: Open5GS initialization failed. Aborted (../src/main.c:224)')
  process.exit(code)
}

function read() {
  let text
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    end(255, `[app] FATAL: cannot open file \`${file}\` (../lib/app/ogs-init.c:190)`)
  }
  if (text.trim() === '')
    end(134, "[app] FATAL: ogs_yaml_iter_init: Assertion `iter->node' failed. (../lib/app/ogs-yaml.c:32)")
  try {
    return parse(text)
  } catch (error) {
    const words = `Parser error - ${error.message.split('\n')[0]}`
    end(
      255,
      `[app] FATAL: Failed to parse configuration file '${file}' (../lib/app/ogs-init.c:199)`,
      `[app] ERROR: ${words}`,
    )
  }
}

function isRefused() {
  const held = `${STATE}/refused.json`
  const text = existsSync(held) ? JSON.parse(readFileSync(held, 'utf8'))[role] : undefined
  return text !== undefined && readFileSync(file, 'utf8').includes(text)
}

function at(section, path) {
  return path.split('.').reduce((value, key) => value?.[key], section)
}

function checkMme(section) {
  const missing = MME_NEEDS.find(([path]) => at(section, path) === undefined)
  if (missing === undefined) return
  const [, name, code] = missing
  end(
    code,
    `[mme] ERROR: No ${name} in '${file}' (../src/mme/mme-context.c:244)`,
    '[sctp] ERROR: Failed to initialize MME (../src/mme/app-init.c:30)',
  )
}

/** freeDiameter reads a file of its own, which says where it listens. */
function diameterAddress({ freeDiameter }) {
  if (freeDiameter === undefined) return undefined
  if (typeof freeDiameter !== 'string') return freeDiameter.listen_on
  if (!existsSync(freeDiameter))
    end(
      255,
      `[fd] ERROR: Unable to open configuration file for reading: ${freeDiameter} (../lib/diameter/common/init.c:99)`,
    )
  return /^ListenOn\s*=\s*"([^"]+)"/m.exec(readFileSync(freeDiameter, 'utf8'))?.[1]
}

function listen(server, address, port, name) {
  if (isIP(address) === 0)
    end(
      134,
      `[sock] ERROR: getaddrinfo(0:${address}:${port}:0x0) failed: Name or service not known (22:Invalid argument) (../lib/core/ogs-sockaddr.c:127)`,
      `[${role}] FATAL: ${role}_context_parse_config: Assertion \`rv == OGS_OK' failed. (../src/${role}/${role}-context.c:714)`,
    )
  server.on('error', () =>
    end(255, `[sctp] ERROR: ${name}_bind() [${address}]:${port} failed (../lib/sctp/ogs-usrsctp.c:233)`),
  )
  server.listen(port, address)
}

const peers = new Set()

/** A peer that is tried again and again, as PFCP does; TCP in place of UDP, so that both ends see the other go. */
function keepPeer(address) {
  const socket = connect(PORTS.pfcp, address)
  socket.on('connect', () => peers.add(socket))
  socket.on('error', () => undefined)
  socket.on('close', () => {
    peers.delete(socket)
    setTimeout(keepPeer, 200, address)
  })
  socket.resume()
}

function takePeers(socket) {
  peers.add(socket)
  socket.on('error', () => undefined)
  socket.on('close', () => peers.delete(socket))
  socket.resume()
}

function metricsText() {
  return `# HELP pfcp_peers_active Active PFCP peers\n# TYPE pfcp_peers_active gauge\npfcp_peers_active ${peers.size}\n`
}

const LISTS = {
  mme: { '/ue-info': 'ue-info.json', '/enb-info': 'enb-info.json' },
  smf: { '/pdu-info': 'pdu-info.json' },
}

const attached = new Set()

/** Writes of each phone that has come since the list was asked for last, as the MME does when it comes. */
function noteAttached(phones) {
  const now = new Set(phones.map(({ supi }) => supi))
  for (const imsi of now)
    if (!attached.has(imsi)) log(`[mme] INFO: [${imsi}] Attach complete (../src/mme/emm-sm.c:1603)`)
  attached.clear()
  for (const imsi of now) attached.add(imsi)
}

function answer(request, response) {
  const path = (request.url ?? '').replace(/\?.*/, '')
  const send = (status, type, body) => {
    response
      .writeHead(status, { connection: 'close', ...(type === '' ? {} : { 'content-type': type }) })
      .end(body)
  }
  const list = LISTS[role]?.[path]
  if (request.method !== 'GET') return send(400, '', 'Invalid HTTP Method\n')
  if (path === '/') return send(200, '', 'OK\n')
  if (path === '/metrics') return send(200, 'text/plain; version=0.0.4; charset=utf-8', metricsText())
  if (list === undefined) return send(400, '', 'Bad Request\n')
  const held = `${STATE}/${list}`
  const items = existsSync(held) ? JSON.parse(readFileSync(held, 'utf8')) : []
  if (list === 'ue-info.json') noteAttached(items)
  const body = { items, pager: { page: 0, page_size: 100, count: items.length } }
  return send(200, 'application/json', JSON.stringify(body))
}

function openServices(section) {
  for (const [service, port] of Object.entries(PORTS)) {
    for (const { address } of section[service]?.server ?? []) {
      const server = createServer(service === 'pfcp' ? takePeers : refuse)
      listen(server, address, port, service === 's1ap' ? 'sctp' : 'udp')
    }
  }
}

function refuse(socket) {
  socket.destroy()
}

function run() {
  const section = read()?.[role]
  if (section === undefined || isRefused())
    end(255, `[${role}] ERROR: No ${role} in '${file}' (../src/${role}/${role}-context.c:100)`)
  if (role === 'mme') checkMme(section)
  openServices(section)
  const diameter = diameterAddress(section)
  if (diameter !== undefined) listen(createServer(refuse), diameter, DIAMETER_PORT, 'sctp')
  const { upf = [], sgwu = [] } = section.pfcp?.client ?? {}
  for (const { address } of [...upf, ...sgwu]) keepPeer(address)
  for (const { address, port = METRICS_PORT } of section.metrics?.server ?? [])
    listen(createHttpServer(answer), address, port, 'tcp')
  log(`[app] INFO: ${role.toUpperCase()} initialize...done (../src/${role}/app.c:31)`)
}

process.on('SIGTERM', () => {
  log('[app] INFO: SIGTERM received (../src/main.c:53)')
  process.exit(0)
})
run()
