import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { isIP } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { parseDocument } from 'yaml'
import { openPlain } from '../logs/log-file.ts'
import { textValue } from '../overlay/overlay.ts'
import { readFree5gc } from './free5gc-files.ts'
import { type FoundNetwork, type Part, textAt } from './network.ts'
import { readOpen5gs } from './open5gs-files.ts'
import type { FoundCore, FoundDaemon } from './programs.ts'

/** Where the daemons of a core have their subscribers, as settings and words. */
interface FoundDatabase {
  readonly settings: Readonly<Record<string, unknown>>
  /** The database's host as the daemons reach it; undefined where the key for it cannot say that. */
  readonly host: string | undefined
  readonly notes: readonly string[]
}

/** Functions whose files name the database of subscribers. */
const DATABASE_USERS = ['hss', 'udr', 'pcrf', 'pcf']
const URL_PARTS = /^(mongodb(?:\+srv)?:\/\/)([^/?#]*@)?([^/?#@]+)(\/[^?#]*)?(\?[^#]*)?$/

/** Reads where the subscribers are. A password in it goes nowhere. */
function readDatabase(
  core: FoundCore,
  files: ReadonlyMap<string, Part>,
  daemons: readonly FoundDaemon[],
): FoundDatabase {
  const role = DATABASE_USERS.find((one) => files.has(one) && urlIn(core, files.get(one)) !== undefined)
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

/** What a core is, by the files that its daemons read. */
export interface CoreReading {
  readonly core: FoundCore
  readonly network: FoundNetwork
  /** Keys of this service, dotted, and what they must be for it to say the same. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Why a file could not be read or is not where it must be, and what to do. */
  readonly problems: readonly string[]
}

const READERS: Readonly<Record<FoundCore, (files: ReadonlyMap<string, Part>) => FoundNetwork>> = {
  core_a: readOpen5gs,
  core_b: readFree5gc,
}
/** The names under which this service writes a daemon's file. */
const FILE_NAME: Readonly<Record<FoundCore, (role: string) => string>> = {
  core_a: (role) => `${role}.yaml`,
  core_b: (role) => `${role}cfg.yaml`,
}
/** Functions of these cores that this service has no keys for. */
const UNKNOWN_ROLES = ['sepp', 'nef', 'n3iwf', 'tngf']
const MOST_BYTES = 1024 * 1024

/** Reads the files of a core's daemons as they are. Writes nothing, and never throws for one that cannot be read. */
export async function readCore(core: FoundCore, all: readonly FoundDaemon[]): Promise<CoreReading> {
  const daemons = all.filter((one) => one.core === core && !UNKNOWN_ROLES.includes(one.role))
  const troubled = Map.groupBy(daemons, ({ problem }) => problem)
  const problems = [...troubled].flatMap(([problem, all]) =>
    problem === undefined ? [] : [`${all.map(({ role }) => role).join(', ')}: ${problem}`],
  )
  const files = new Map<string, Part>()
  for (const { role, path } of daemons) {
    if (path === undefined || files.has(role)) continue
    const read = await partAt(path)
    if ('problem' in read) problems.push(`${role}: ${read.problem}`)
    else files.set(role, read.part)
  }
  const read = READERS[core](files)
  const database = readDatabase(core, files, daemons)
  const network = { ...read, notes: [...read.notes, ...database.notes] }
  const places = placesOf(core, daemons)
  const logs = await logFolder(daemons, files)
  return {
    core,
    network,
    settings: {
      ...network.settings,
      ...(database.host === undefined
        ? {}
        : { [`${core}.addresses`]: { ...addressesIn(core, network), mongo: database.host } }),
      ...places.settings,
      ...database.settings,
      ...(core === 'core_a' && logs !== undefined ? { 'core_a.log_dir': logs } : {}),
    },
    problems: [...problems, ...places.problems],
  }
}

/** The addresses that are named in the settings: with those that radios and phones are told. */
function addressesIn(core: FoundCore, { settings }: FoundNetwork): object {
  return settings[`${core}.addresses`] as object // as the reader of this core makes it
}

async function partAt(path: string): Promise<{ readonly part: Part } | { readonly problem: string }> {
  try {
    await using file = await openPlain(path)
    const { size } = await file.stat()
    if (size > MOST_BYTES) return { problem: `${path} is larger than a configuration file is` }
    return { part: textValue((await file.readFile()).toString('utf8')) }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException // of the file system, or of the parser
    if (code === 'EACCES')
      return { problem: `this service may not read ${path}: give its group the right to` }
    if (code === 'ENOENT') return { problem: `there is no ${path}` }
    return {
      problem: code === undefined ? `${path} is no YAML: ${message}` : `${path} cannot be read (${code})`,
    }
  }
}

/** The folder in which all daemons of this machine write logs that this service may read. */
async function logFolder(
  daemons: readonly FoundDaemon[],
  files: ReadonlyMap<string, Part>,
): Promise<string | undefined> {
  const logs = [...files].map(([role, part]) => {
    const isHere = daemons.some((one) => one.role === role && one.runner.kind !== 'container')
    const path = textAt(part, 'logger', 'file', 'path') ?? textAt(part, 'logger', 'file')
    return isHere && path !== undefined && basename(path) === `${role}.log` ? path : undefined
  })
  const [first, ...others] = new Set(logs.map((path) => path && dirname(path)))
  if (first === undefined || others.length > 0) return undefined
  try {
    for (const path of logs) if (path !== undefined) await access(path, constants.R_OK)
    return first
  } catch {
    return undefined
  }
}

/** Where the files lie and what runs the daemons, as settings. */
function placesOf(
  core: FoundCore,
  daemons: readonly FoundDaemon[],
): Pick<CoreReading, 'settings' | 'problems'> {
  const problems: string[] = []
  const kinds = (['container', 'unit'] as const).filter((kind) =>
    daemons.some(({ runner }) => runner.kind === kind),
  )
  const kind = kinds[0]
  if (kinds.length > 1)
    problems.push(
      'some daemons run in containers and some as units: the service restarts those in containers alone',
    )
  const runners = Object.fromEntries(
    daemons.flatMap(({ role, runner }) => (runner.kind === kind ? [[role, runner.name]] : [])),
  )
  const [first, ...others] = [
    ...new Set(daemons.flatMap(({ path }) => (path === undefined ? [] : [dirname(path)]))),
  ]
  if (others.length > 0)
    problems.push(`the files lie in several folders (${[first, ...others].join(', ')}): they must be in one`)
  for (const { role, path } of daemons)
    if (path !== undefined && basename(path) !== FILE_NAME[core](role))
      problems.push(
        `${role} reads ${path}, and the service writes ${join(dirname(path), FILE_NAME[core](role))}: have it read that`,
      )
  const mount = daemons.find(({ configFile }) => configFile !== undefined)?.configFile
  return {
    problems,
    settings: {
      ...(first === undefined ? {} : { [`${core}.config_dir`]: first }),
      ...(core === 'core_a' && mount !== undefined ? { 'core_a.config_mount': dirname(mount) } : {}),
      ...(kind === undefined ? {} : { [`${core}.${kind}s`]: runners }),
    },
  }
}

/** A configuration file of this service with these keys in it; comments and all others stay. */
export function withKeys(text: string, settings: Readonly<Record<string, unknown>>): string {
  const document = parseDocument(text)
  for (const [key, value] of Object.entries(settings)) {
    const path = key.split('.')
    // A group without keys (`core_a:`) is null, in which nothing can be set.
    for (const depth of path.keys())
      if (depth > 0 && document.getIn(path.slice(0, depth)) === null)
        document.setIn(path.slice(0, depth), document.createNode({}))
    document.setIn(path, value)
  }
  return document.toString({ lineWidth: 0, singleQuote: false })
}
