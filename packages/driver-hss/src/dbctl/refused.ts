import { connect, isIP } from 'node:net'
import { untilAborted } from '@steeple/contracts'
import type { Ran, RunTool } from './run-tool.ts'

/** How long the words of a run count, ms. A tool in a container means another place by the same address. */
const WORDS_MS = 3_000
/** An address that does not answer at once is no reason to leave the tool alone, ms. */
const DIAL_MS = 250
/** The most addresses that are tried. */
const ADDRESSES_MAX = 4
const REFUSED = /\bECONNREFUSED ([0-9A-Fa-f:.]+):([0-9]{1,5})\b/g

interface Address {
  readonly host: string
  readonly port: number
}

/** What the last run was refused with, and until when that counts. */
interface Refusal {
  readonly ran: Ran
  readonly addresses: readonly Address[]
  readonly untilMs: number
}

/**
 * The same runs, except while the database is away: as long as nobody listens where the last run was refused, its words are
 * repeated, for 3 s at most, and then one run tries for all. A run of the stock tool takes a second of a processor and has
 * its answer late; a dial takes nothing, so that callers can ask often and see at once that the database is back.
 */
export function untilSomebodyListens(run: RunTool, nowMs: () => number = () => performance.now()): RunTool {
  let last: Refusal | undefined
  let trying: Promise<unknown> | undefined
  const tried: RunTool = async (args, signal, input) => {
    const ran = await run(args, signal, input)
    const addresses = addressesIn(ran.errors)
    last = addresses.length === 0 ? undefined : { ran, addresses, untilMs: nowMs() + WORDS_MS }
    return ran
  }
  return async (args, signal, input) => {
    signal.throwIfAborted()
    while (last !== undefined) {
      const refusal: Refusal = last
      if (nowMs() < refusal.untilMs && (await isNobodyAt(refusal.addresses, signal))) {
        // What it printed was the answer to another command.
        return { ...refusal.ran, output: '' }
      }
      if (trying === undefined) {
        const own = tried(args, signal, input)
        trying = own.then(
          () => undefined,
          () => undefined,
        )
        return await own.finally(() => {
          trying = undefined
        })
      }
      await untilAborted(trying, signal)
    }
    return await tried(args, signal, input)
  }
}

async function isNobodyAt(addresses: readonly Address[], signal: AbortSignal): Promise<boolean> {
  const refusals = await Promise.all(addresses.map(isRefused))
  signal.throwIfAborted()
  return refusals.every((one) => one)
}

function addressesIn(errors: string): readonly Address[] {
  return [...errors.matchAll(REFUSED)]
    .map(([, host = '', port]) => ({ host, port: Number(port) }))
    .filter(({ host, port }) => isIP(host) !== 0 && port > 0 && port < 65_536)
    .slice(0, ADDRESSES_MAX)
}

/** Whether nobody listens there, for certain. */
function isRefused({ host, port }: Address): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host, port, timeout: DIAL_MS })
  const end = (isNobody: boolean) => (): void => {
    socket.destroy()
    resolve(isNobody)
  }
  socket.once('connect', end(false)).once('timeout', end(false))
  socket.once('error', (error) => end('code' in error && error.code === 'ECONNREFUSED')())
  return promise
}
