import { type Imsi, type Subscriber, southboundUnavailable, validationFailed } from '@steeple/contracts'
import { rateParts } from '../open5gs/ambr.ts'
import { batchRunner, type RunBatched } from './batch-runner.ts'
import { addedBy, deletedBy, helpBy, type Listing, listedBy, matchedBy } from './output.ts'
import { untilSomebodyListens } from './refused.ts'
import { type Ran, type RunTool, toolRunner } from './run-tool.ts'

const IMSI = /^[0-9]{6,15}$/
const APN = /^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$/
/** No character that a shell or a script reads as anything but itself. */
const URL_TEXT = /^mongodb(\+srv)?:\/\/[A-Za-z0-9:/@.,?&=%_~+-]+$/
/** The tool removes one document at a time; there may be doubles. */
const DOUBLES_MAX = 8

/** The commands of an open5gs-dbctl, each with its arguments checked and its output read. */
export interface Tool {
  /**
   * The commands that its help lists, among them what a compatible tool has beyond the stock one. Throws when there is
   * no help: what the tool can do, and so whether it must be given keys on its command line, is not known then.
   */
  extras(signal: AbortSignal): Promise<ReadonlySet<string>>
  /** Everybody, as far as the tool shows them. */
  list(signal: AbortSignal): Promise<Listing>
  /** At least these, with a tool that can show one alone; otherwise everybody. */
  listOf(imsis: readonly Imsi[], signal: AbortSignal): Promise<Listing>
  /** False when there is no such subscriber. */
  setAmbr(subscriber: Subscriber, signal: AbortSignal): Promise<boolean>
  /** Adds one with its first APN. */
  add(subscriber: Subscriber, signal: AbortSignal): Promise<'added' | 'exists'>
  addApn(imsi: Imsi, apn: string, signal: AbortSignal): Promise<boolean>
  /** How many documents went. */
  remove(imsi: Imsi, signal: AbortSignal): Promise<number>
  /** Runs `block`, `unblock`, `set_sqn` or `cancel_location` of a tool that has them; the first argument is an IMSI. */
  extra(name: string, args: readonly string[], signal: AbortSignal): Promise<boolean>
}

/** The tool at `path`; `url` is the database that it is told to use, empty for its own default. */
export function dbctlTool(path: string, url: string, run: RunTool = toolRunner(path)): Tool {
  let known: Promise<ReadonlySet<string>> | undefined
  let batched: RunBatched | undefined
  const conceal = passwordsIn(url)
  const discreet: RunTool = async (...of) => ({ ...(await run(...of)), conceal })
  const sparing = untilSomebodyListens(discreet)
  const extras = async (signal: AbortSignal): Promise<ReadonlySet<string>> => {
    const asked = known ?? run(['help'], signal).then(helpBy)
    known = asked
    return await asked.catch((error: unknown) => {
      // A tool that prints no help now may do so later.
      known = undefined
      throw error
    })
  }
  const call = async (args: readonly string[], signal: AbortSignal): Promise<Ran> => {
    if (!(await extras(signal)).has('batch')) return await sparing([...uriFlag(url), ...args], signal)
    batched ??= batchRunner(discreet, uriFlag(url))
    return await batched(args, signal)
  }
  const list = async (signal: AbortSignal): Promise<Listing> => listedBy(await call(['showpretty'], signal))
  return {
    extras,
    list,
    listOf: async (imsis, signal) => {
      const commands = await extras(signal)
      if (!commands.has('batch') || !commands.has('show')) return await list(signal)
      const shown = await Promise.all(imsis.map((imsi) => call(['show', imsiText(imsi)], signal)))
      return { docs: shown.flatMap((ran) => listedBy(ran).docs), isCut: false }
    },
    setAmbr: async ({ imsi, ambrBps }, signal) => {
      const [down, up] = [rateParts(ambrBps.down), rateParts(ambrBps.up)]
      const rates = [down.value, down.unit, up.value, up.unit].map(String)
      return matchedBy(await call(['ambr_speed', imsiText(imsi), ...rates], signal)) > 0
    },
    add: async ({ imsi, ki, opc, apns: [apn = ''] }, signal) => {
      const keys = [ki, opc].map((key) => Buffer.from(key).toString('hex'))
      return addedBy(await call(['add_ue_with_apn', imsiText(imsi), ...keys, apnText(apn)], signal))
    },
    addApn: async (imsi, apn, signal) =>
      matchedBy(await call(['update_apn', imsiText(imsi), apnText(apn), '0'], signal)) > 0,
    remove: async (imsi, signal) => {
      for (let gone = 0; gone < DOUBLES_MAX; gone += 1) {
        if (deletedBy(await call(['remove', imsiText(imsi)], signal)) === 0) return gone
      }
      throw southboundUnavailable('dbctl remove finds ever more documents of one subscriber')
    },
    extra: async (name, args, signal) => matchedBy(await call([name, ...args], signal)) > 0,
  }
}

function uriFlag(url: string): readonly string[] {
  if (url === '') return []
  if (!URL_TEXT.test(url)) {
    throw validationFailed('hss.mongo_url holds characters that dbctl cannot be given; use docdb_shell')
  }
  const hasDatabase = /^mongodb(\+srv)?:\/\/[^/?]*\/[^?]/.test(url)
  const named = hasDatabase ? url : url.replace(/^([^?]*?:\/\/[^/?]*)\/?(\?.*)?$/, '$1/open5gs$2')
  return [`--db_uri=${named}`]
}

/** The password of a URL as it is written and as it is meant. */
function passwordsIn(url: string): readonly string[] {
  const written = /^[^/]*:\/\/[^:@/]*:([^@/]*)@/.exec(url)?.[1]
  if (written === undefined) return []
  try {
    return [written, decodeURIComponent(written)]
  } catch {
    return [written]
  }
}

function imsiText(imsi: Imsi): string {
  if (!IMSI.test(imsi)) throw validationFailed('an IMSI must be 6 to 15 digits')
  return imsi
}

function apnText(apn: string): string {
  if (!APN.test(apn)) throw validationFailed('an APN for dbctl must be letters, digits, dots and hyphens')
  return apn
}
