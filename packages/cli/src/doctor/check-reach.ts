import { createConnection, type NetConnectOpts } from 'node:net'
import type { Settings } from '@steeple/contracts'
import { type Check, broken as failed, healthy } from './check.ts'

const CONNECT_LIMIT_MS = 3000
const MONGO_PORT = 27_017

/** Something that the configuration says the service talks to. */
interface Neighbour {
  readonly name: string
  readonly at: string
  readonly connect: NetConnectOpts
  readonly remedy: string
}

/** Connects to everything that the configuration names; sends nothing. */
export function checkReach(settings: Settings): Promise<readonly Check[]> {
  return Promise.all(neighbours(settings).map(reach))
}

function neighbours(settings: Settings): readonly Neighbour[] {
  const { hss, collector, core, core_b } = settings
  const list: Neighbour[] = []
  if (hss.mongo_url !== '') list.push(...mongoHosts(hss.mongo_url))
  if (collector.enabled && core === 'core_a') {
    const daemons = { mme: collector.mme_url, smf: collector.smf_url, amf: collector.amf_url }
    for (const [daemon, url] of Object.entries(daemons))
      if (url !== '') list.push(http(daemon, url, `collector.${daemon}_url`))
  }
  if (core === 'core_b') list.push(http('amf', core_b.amf_oam_url, 'core_b.amf_oam_url'))
  if (core === 'core_b' && core_b.smf_oam_url !== '')
    list.push(http('smf', core_b.smf_oam_url, 'core_b.smf_oam_url'))
  return list
}

function http(name: string, url: string, key: string): Neighbour {
  const { hostname, port, protocol } = new URL(url)
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  return {
    name,
    at: `${hostname}:${number}`,
    connect: { host: hostname.replaceAll(/[[\]]/g, ''), port: number },
    remedy: `start it or correct ${key}`,
  }
}

/** `mongodb://user:password@a:1,b/db`: the hosts, never the rest. */
function mongoHosts(url: string): readonly Neighbour[] {
  if (url.startsWith('mongodb+srv:')) return []
  const authority = url.replace(/^mongodb:\/\//, '').split('/')[0] ?? ''
  const hosts = authority.slice(authority.lastIndexOf('@') + 1).split(',')
  return hosts.map((text) => {
    const [, host = text, port] = /^(.*?)(?::(\d+))?$/.exec(text) ?? []
    return {
      name: 'hss',
      at: text,
      connect: { host: host.replaceAll(/[[\]]/g, ''), port: Number(port ?? MONGO_PORT) },
      remedy: 'start the subscriber database or correct hss.mongo_url',
    }
  })
}

function reach(neighbour: Neighbour): Promise<Check> {
  return new Promise((resolve) => {
    const socket = createConnection({ ...neighbour.connect, timeout: CONNECT_LIMIT_MS })
    const end = (check: Check): void => {
      socket.destroy()
      resolve(check)
    }
    const fail = (why: string): void =>
      end(failed(neighbour.name, `${neighbour.at}: ${why}`, neighbour.remedy))
    socket.on('connect', () => end(healthy(neighbour.name, `${neighbour.at} takes connections`)))
    socket.on('timeout', () => fail('no answer in 3 s'))
    socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message))
  })
}
