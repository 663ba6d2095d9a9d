import type { Clock, Imsi } from '@steeple/contracts'
import type { SharedWalk, UeEntry, UeList } from '@steeple/southbound'
import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { kicker } from '../src/kick/kick.ts'

const property = suite('driver-core-a/kick property')

const IMSI = '999990000000001' as Imsi // 15 digits
const NEVER = Number.POSITIVE_INFINITY
const LIMITS = { overallMs: 3_000, graceMs: 400, pollMs: 100 }

/** What a phone and its core do: times in ms after the kick began, `NEVER` for not at all. */
interface Script {
  readonly technology: 'lte' | 'nr'
  readonly isOnAtFirst: boolean
  /** The block alone cuts it then. */
  readonly blockCutsMs: number
  /** The kick cuts it so long after it is sent. */
  readonly kickCutsMs: number
  /** The SMF forgets its session so long after the cut. */
  readonly sessionLagMs: number
  /** How long a walk takes. */
  readonly walkMs: number
}

const lag = fc.oneof(fc.nat(5_000), fc.constant(NEVER))
const script: fc.Arbitrary<Script> = fc.record({
  technology: fc.constantFrom('lte', 'nr'),
  isOnAtFirst: fc.boolean(),
  blockCutsMs: lag,
  kickCutsMs: lag,
  sessionLagMs: lag,
  walkMs: fc.nat(400),
})

property(
  'says yes only of a phone that is gone, is told of each technology once, and ends in time',
  async () => {
    await fc.assert(
      fc.asyncProperty(script, async (it) => {
        let nowMs = 0
        let sentMs = NEVER
        const told: string[] = []
        const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs }
        const cutMs = (): number =>
          it.isOnAtFirst ? Math.min(it.blockCutsMs, sentMs + it.kickCutsMs) : Number.NEGATIVE_INFINITY
        const hasSession = (): boolean => it.isOnAtFirst && nowMs < cutMs() + it.sessionLagMs
        const isOn = (): boolean => nowMs < cutMs()
        const walk = <T>(read: () => T): SharedWalk<T> => {
          const take = async () => {
            const beganMs = nowMs
            nowMs += it.walkMs
            return { value: read(), beganMs, endedMs: nowMs }
          }
          return { since: take, recent: take, last: () => undefined }
        }
        const list = (): UeList => {
          const ues = new Map([[IMSI, entryOf(it.technology, isOn())]])
          const by = { lte: new Map(), nr: new Map(), [it.technology]: ues }
          return { ues, by, problems: new Map() }
        }
        const tell = (how: string) => async () => {
          told.push(how)
          sentMs = nowMs
        }
        const kick = kicker({
          clock,
          info: {
            ues: walk(list),
            sessions: walk(() => new Map(hasSession() ? [[IMSI, []]] : [])),
            radios: walk(() => ({ count: 0, technology: undefined, others: new Map(), lists: new Map() })),
          },
          cancelLocation: async () => {
            await tell('hss')()
            return true
          },
          deregister: async () => {
            await tell('amf')()
            return 'accepted'
          },
          pause: async (ms) => {
            nowMs += ms
          },
          limits: LIMITS,
        })
        const result = await kick(IMSI, new AbortController().signal)
        assert.ok(told.length <= 1, told.join())
        assert.ok(told.every((how) => how === (it.technology === 'lte' ? 'hss' : 'amf')))
        if (result === 'yes') assert.not.ok(isOn() || hasSession())
        if (result === 'not_attached') assert.not.ok(isOn())
        if (!it.isOnAtFirst) assert.is(result, 'not_attached')
        // A last walk of the phones and one of the sessions may follow the last pause.
        assert.ok(nowMs <= LIMITS.overallMs + 4 * it.walkMs, `${nowMs} ms`)
      }),
      { numRuns: 500 },
    )
  },
)

function entryOf(technology: 'lte' | 'nr', isRegistered: boolean): UeEntry {
  return {
    imsi: IMSI,
    technology,
    isRegistered,
    state: undefined,
    isCut: false,
    isConnected: undefined,
    plmn: undefined,
    cell: undefined,
    connections: [],
    apns: [],
  }
}

property.run()
