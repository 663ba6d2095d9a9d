import { installVersion } from './install-version.ts'

/** What a service needs to use the stand-ins. */
export const STAND_IN_ENV: Readonly<Record<string, string>> = {
  SVC_HSS_DRIVER: 'stand_in',
  SVC_CORE: 'stand_in',
  SVC_COLLECTOR_ENABLED: 'true',
  SVC_COLLECTOR_INTERVAL: '1s',
}

/** A kick is a request or two to a core, ms. */
const KICK_MS = 3

/** Every subscriber that the HSS holds open is on the network, until it is kicked. */
const NETWORK = 'globalThis.standInNetwork ??= { held: new Map(), attached: new Set() }'

const HSS = `
const network = (${NETWORK})
const each = (list, work) => new Map(list.map((item) => { work(item); return [item.imsi ?? item, undefined] }))
const driver = {
  name: 'stand_in',
  observe: async (imsis) => new Map(imsis.filter((imsi) => network.held.has(imsi)).map((imsi) => [imsi, network.held.get(imsi)])),
  upsert: async (subscribers) => each(subscribers, ({ imsi, apns, ambrBps, isBlocked, msisdn }) => {
    if (!network.held.has(imsi) && !isBlocked) network.attached.add(imsi)
    network.held.set(imsi, { imsi, apns, ambrBps, isBlocked, ...(msisdn === undefined ? {} : { msisdn }) })
  }),
  remove: async (imsis) => each(imsis, (imsi) => network.held.delete(imsi)),
  setBlocked: async (imsis, isBlocked) => each(imsis, (imsi) => {
    const row = network.held.get(imsi)
    if (row !== undefined) network.held.set(imsi, { ...row, isBlocked })
  }),
}
const exported = { setup: async () => ({ services: new Map([['hss.driver', driver]]) }) }
export { exported as plugin }
`

const CORE = `
const network = (${NETWORK})
const driver = {
  render: async () => ({ files: new Map(), sha256: '' }),
  observe: async () => ({ configSha256: '', services: new Map(), radios: 1, attachedUes: network.attached.size }),
  apply: async () => ({ changed: [], restarted: [] }),
  kick: async (imsi) => {
    await new Promise((done) => setTimeout(done, ${KICK_MS}))
    return network.attached.delete(imsi) ? 'yes' : 'not_attached'
  },
  ues: async () => [...network.attached].map((imsi) => ({ imsi, isRegistered: true, apns: ['internet'] })),
}
const exported = { setup: async () => ({ services: new Map([['core.driver', driver]]) }) }
export { exported as plugin }
`

/** Lines \`hash octets\` of a file, each once, as what those subscribers have used since the poll before. */
const collector = (file: string): string => `
import { existsSync, readFileSync } from 'node:fs'
const poll = (context) => async (position) => {
  const nowMs = Math.floor(context.clock.nowMs())
  const lines = existsSync(${JSON.stringify(file)}) ? readFileSync(${JSON.stringify(file)}, 'utf8').split('\\n').slice(0, -1) : []
  const volumes = lines.slice(Number(position ?? 0)).map((line) => {
    const [imsi, octets] = line.split(' ')
    return { key: { by: 'imsi', imsi }, upBytes: 0, downBytes: Number(octets), fromMs: nowMs - 1000, toMs: nowMs, count: 'delta', isIncomplete: false }
  })
  return { sightings: [], isWhole: false, volumes, position: String(lines.length), lost: undefined }
}
const exported = { setup: async (context) => ({ services: new Map([['collector.usage-file', { source: 'usage-file', poll: poll(context) }]]) }) }
export { exported as plugin }
`

/** Installs an HSS and a core that live in the service, and a collector that counts what a file says. */
export function installStandInNetwork(dataDir: string, usageFile: string): void {
  installVersion(dataDir, {
    id: 'stand-in-hss',
    version: '1.0.0',
    code: HSS,
    manifest: {
      kind: 'hss',
      provides: ['hss.driver'],
      selected_by: { key: 'hss.driver', values: ['stand_in'] },
    },
  })
  installVersion(dataDir, {
    id: 'stand-in-core',
    version: '1.0.0',
    code: CORE,
    manifest: { kind: 'core', provides: ['core.driver'], selected_by: { key: 'core', values: ['stand_in'] } },
  })
  installVersion(dataDir, {
    id: 'usage-file',
    version: '1.0.0',
    code: collector(usageFile),
    manifest: { kind: 'collector', provides: ['collector.usage-file'] },
  })
}
