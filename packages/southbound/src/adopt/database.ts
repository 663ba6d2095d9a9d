import { isIP } from 'node:net'
import { type Part, textAt } from './network.ts'
import type { FoundCore, FoundDaemon } from './programs.ts'

/** Where the daemons of a core have their subscribers, as settings and words. */
export interface FoundDatabase {
  readonly settings: Readonly<Record<string, unknown>>
  /** The database's host as the daemons reach it; undefined where the key for it cannot say that. */
  readonly host: string | undefined
  readonly notes: readonly string[]
}

/** Functions whose files name the database of subscribers. */
const READERS = ['hss', 'udr', 'pcrf', 'pcf']
const URL_PARTS = /^(mongodb(?:\+srv)?:\/\/)([^/?#]*@)?([^/?#@]+)(\/[^?#]*)?(\?[^#]*)?$/

/** Reads where the subscribers are. A password in it goes nowhere. */
export function readDatabase(
  core: FoundCore,
  files: ReadonlyMap<string, Part>,
  daemons: readonly FoundDaemon[],
): FoundDatabase {
  const role = READERS.find((one) => files.has(one) && urlIn(core, files.get(one)) !== undefined)
  const match = URL_PARTS.exec((role === undefined ? undefined : urlIn(core, files.get(role))) ?? '')
  const driver = core === 'core_b' ? { 'hss.driver': 'core_b' } : {}
  if (match === null) return { settings: driver, host: undefined, notes: [] }
  const [url = '', , login, hosts = ''] = match
  // free5GC's key takes a port, too.
  const host = hosts.includes(',') || (core === 'core_a' && hosts.includes(':')) ? undefined : hosts
  if (login !== undefined) {
    const note = `the database at ${hosts} asks for a password: name it in hss.mongo_url to see its subscribers`
    return { settings: driver, host, notes: [note] }
  }
  const isContained = daemons.some((one) => one.role === role && one.runner.kind === 'container')
  // A name that only containers give to one another is none here.
  const isHere = !isContained || hosts.split(',').every((one) => isReachable(one.replace(/:\d+$/, '')))
  if (isHere) return { settings: { ...driver, 'hss.mongo_url': url }, host, notes: [] }
  const note = `the subscribers are at ${hosts} as the containers call it: name it in hss.mongo_url or hss.container as this service reaches it`
  return { settings: driver, host, notes: [note] }
}

function isReachable(host: string): boolean {
  return host === 'localhost' || isIP(host) !== 0
}

/** With the name of the database, which free5GC writes beside it. */
function urlIn(core: FoundCore, part: Part): string | undefined {
  if (core === 'core_a') return textAt(part, 'db_uri')
  const url = textAt(part, 'configuration', 'mongodb', 'url')
  return url === undefined
    ? undefined
    : `${url.replace(/\/$/, '')}/${textAt(part, 'configuration', 'mongodb', 'name') ?? 'free5gc'}`
}
