import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { assert, enterOwnMounts, suite, rounds as timesAsOften } from '@steeple/testkit'
import { type Air, type Manners, openAir } from '../harness/radio/air.ts'
import { type Box, openBox } from '../harness/radio/box.ts'
import { LOADS, type Load, type Request } from '../harness/radio/loads.ts'
import { memoryDisk } from '../harness/small-disk.ts'

enterOwnMounts(import.meta.filename)

/** Disarms of all loads together. */
const ROUNDS = timesAsOften(36)
const PER_LOAD = Math.ceil(ROUNDS / LOADS.length)
/** One load alone, by a part of its name. */
const CHOSEN = LOADS.filter(({ name }) => name.includes(process.env.SVC_DISARM_LOAD ?? ''))
/** From the request to the last sample. What the machine itself was late by is added. */
const BOUND_MS = 500
const DISK_MIB = 48
/** Nothing may come after an answer, not even later. */
const QUIET_MS = 300
const HISTOGRAM_MS = [50, 100, 200, 300, 350, 400, 450, 500, Number.POSITIVE_INFINITY]

const disarm = suite('e2e/disarm')

interface Round {
  readonly manners: Manners
  readonly lastMs: number
  readonly answerMs: number
  readonly answer: string
  readonly lateMs: number
  readonly afterAnswer: number
}

async function round(
  air: Air,
  box: Box,
  load: Load,
  disk: ReturnType<typeof memoryDisk>,
  manners: Manners,
): Promise<Round> {
  air.behave(manners)
  await box.onAir()
  await wait(Math.random() * 100)
  await air.since(0)
  const request: Request = await load.round(box, disk)
  await wait(QUIET_MS)
  const { lastMs, lastSentMs, lateMs } = request.seen ?? (await air.since(request.answeredMs))
  return {
    manners,
    lastMs: Math.max(0, lastMs - request.askedMs),
    answerMs: request.answeredMs - request.askedMs,
    answer: request.answer,
    lateMs,
    afterAnswer: request.says === 'unconfirmed' ? 0 : Math.max(0, lastSentMs - request.answeredMs),
  }
}

const all: Round[] = []

for (const load of CHOSEN) {
  disarm(
    `is off the air in time, and before it says so: ${load.name}`,
    async () => {
      const disk = memoryDisk(DISK_MIB)
      const folder = mkdtempSync(join(tmpdir(), 'steeple-disarm-'))
      const rounds: Round[] = []
      try {
        const air = await openAir(folder)
        const home = load.name === 'full disk' ? disk.path : join(folder, 'box')
        mkdirSync(home, { recursive: true })
        const box = await openBox(air, home)
        try {
          for (let turn = 0; turn < PER_LOAD; turn += 1) {
            if (load.isFresh === true && turn > 0) {
              await box.service.kill()
              await box.restart(true)
              await box.permit()
            }
            rounds.push(await round(air, box, load, disk, turn % 2 === 0 ? 'deaf' : 'polite'))
          }
        } finally {
          await box.close()
          air.close()
        }
      } finally {
        disk.remove()
        rmSync(folder, { recursive: true, force: true })
        all.push(...rounds)
        process.stdout.write(`# ${summary(load.name, rounds)}\n`)
      }
      for (const each of rounds) {
        assert.is(each.afterAnswer, 0, `a sample after the answer: ${JSON.stringify(each)}`)
        assert.ok(each.lastMs <= BOUND_MS + each.lateMs, `too late: ${JSON.stringify(each)}`)
      }
    },
    { limitMs: 360_000 + PER_LOAD * 30_000 },
  )
}

disarm('has a histogram', () => {
  assert.is(all.length, PER_LOAD * CHOSEN.length)
  process.stdout.write(
    `# ${summary('all', all)}\n# last sample: ${histogram(all.map(({ lastMs }) => lastMs))}\n`,
  )
})

function summary(name: string, rounds: readonly Round[]): string {
  const last = rounds.map(({ lastMs }) => lastMs)
  const answers = [...new Set(rounds.map(({ answer }) => answer))].join(', ')
  return (
    `${name}: ${rounds.length} rounds, last sample min/median/max ${spread(last)} ms, ` +
    `answer ${spread(rounds.map(({ answerMs }) => answerMs))} ms, machine late by at most ` +
    `${Math.round(Math.max(...rounds.map(({ lateMs }) => lateMs)))} ms, answers ${answers}`
  )
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b)
  return [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
    .map((each) => Math.round(each ?? 0))
    .join('/')
}

function histogram(values: readonly number[]): string {
  let least = Number.NEGATIVE_INFINITY
  return HISTOGRAM_MS.map((most) => {
    const count = values.filter((each) => each > least && each <= most).length
    least = most
    return `≤ ${most}: ${count}`
  }).join(', ')
}

disarm.run()
