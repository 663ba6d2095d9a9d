import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Context, type RadioProfile, type Settings, txGateRef } from '@steeple/contracts'
import { eventually, type FakeContext, fakeContext, type Overrides, tempDir } from '@steeple/testkit'
import { isAlive, markOf, type ProcessMark } from '../../src/process/proc-fs.ts'
import type { Backoff } from '../../src/supervisor/supervisor.ts'
import { Supervisor } from '../../src/supervisor/supervisor.ts'
import type { Scenario } from '../stand-in/scenario.ts'
import { type FakeGate, fakeGate } from './gate.ts'
import { recordingPath } from './recordings.ts'

const STAND_IN = fileURLToPath(new URL('../stand-in/radio.ts', import.meta.url))

/** Carrier of the recordings: EARFCN 3350, 5 MHz, 2680 MHz down, 2560 MHz up. */
export const PROFILE: RadioProfile = {
  technology: 'lte',
  channel: 3350,
  band: 'b7',
  bandwidth_mhz: 5,
  tx_gain_db: 40,
}

/** One sample: CLOCK_MONOTONIC in ms, and whether it was muted. */
export interface Sample {
  readonly atMs: number
  readonly isMuted: boolean
}

/** A supervisor with a gate, a stand-in for the radio and a loop that calls its steps. */
export interface Lab {
  readonly gate: FakeGate
  readonly supervisor: Supervisor
  readonly fake: FakeContext<unknown>
  readonly context: Context
  readonly directory: string
  readonly root: string
  /** Ends by class, in order. */
  readonly ends: readonly string[]
  readonly starts: number
  /** What the next process does. */
  play(scenario: Partial<Scenario>): void
  samples(): readonly Sample[]
  /** The samples as they were when the lab was closed. */
  lastSamples(): readonly Sample[]
  /** Processes of the stand-in that run, those that have left their group included. */
  alive(): readonly number[]
  /** Samples sent after that time. */
  samplesAfter(atMs: number): number
  /** Waits until samples flow. */
  onAir(): Promise<void>
  /** Marks of every process that was seen. */
  readonly marks: readonly ProcessMark[]
  close(): Promise<void>
}

/** Now on the clock that samples are stamped with, ms. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** A scenario that is on air soon after its start and connected. */
export const GOOD: Partial<Scenario> = {
  recording: recordingPath('34_'),
  untilMs: 1_000,
  speed: 5,
  onAirAtMs: 100,
  onTerm: 'graceful',
}

const QUICK: Backoff = { next: () => 30, reset: () => undefined }

/** Makes a lab in a folder of its own. `isDriven` false: the test calls the steps itself. */
export async function openLab(
  options: {
    readonly settings?: Overrides<Settings>
    readonly profiles?: Readonly<Record<string, RadioProfile>>
    readonly isDriven?: boolean
    readonly backoff?: Backoff
    /** A folder that stays; a fresh one that is removed when absent. */
    readonly root?: string
  } = {},
): Promise<Lab> {
  const root =
    options.root === undefined
      ? await tempDir()
      : { path: options.root, remove: async (): Promise<void> => undefined }
  const directory = join(root.path, 'ran')
  const profiles = options.profiles ?? { mast: PROFILE }
  const gate = fakeGate(profiles)
  const files = standInFiles(root.path)
  const settings: Overrides<Settings> = {
    ...options.settings,
    server: { data_dir: root.path, ...options.settings?.server },
    ran: {
      binary: files.binary,
      device_name: 'uhd',
      device_args: `serial=${randomUUID()}`,
      profiles,
      ...options.settings?.ran,
    },
  }
  const fake = fakeContext({ config: {}, settings, services: new Map([[txGateRef.id, gate]]) })
  const context: Context = Object.create(fake.context, {
    clock: { value: { nowMs: () => Date.now(), monotonicMs: () => performance.now() } },
  })
  const ends: string[] = []
  const marks: ProcessMark[] = []
  let starts = 0
  let isWoken = false
  const supervisor = new Supervisor({
    context,
    directory,
    backoff: options.backoff ?? QUICK,
    events: {
      wake: () => {
        isWoken = true
      },
      started: () => {
        starts += 1
        const mark = supervisor.running?.process.mark
        if (mark !== undefined) marks.push(mark)
      },
      exited: (kind) => ends.push(kind),
      stopped: () => undefined,
    },
  })
  let isOpen = true
  const loop = async (): Promise<void> => {
    while (isOpen) {
      isWoken = false
      await supervisor.step().catch(() => undefined)
      for (let turn = 0; turn < 10 && isOpen && !isWoken; turn += 1) await wait(5)
    }
  }
  const looping = options.isDriven === false ? Promise.resolve() : loop()
  const samples = (): readonly Sample[] => readSamples(files.samples)
  let last: readonly Sample[] = []
  if (options.root === undefined) files.play(GOOD)
  return {
    gate,
    supervisor,
    fake,
    context,
    directory,
    root: root.path,
    ends,
    marks,
    get starts() {
      return starts
    },
    play: files.play,
    samples,
    lastSamples: () => last,
    alive: files.alive,
    samplesAfter: (atMs) => samples().filter((sample) => sample.atMs > atMs).length,
    onAir: async () => {
      const before = samples().length
      await eventually(() => samples().length > before + 3)
    },
    close: async () => {
      isOpen = false
      gate.disarm()
      await supervisor.stop()
      await looping
      await fake.dispose()
      const left = marks.filter((mark) => isAlive(mark))
      last = samples()
      await root.remove()
      if (left.length > 0)
        throw new Error(`radio processes are left: ${left.map(({ pid }) => pid).join(', ')}`)
    },
  }
}

/** The stand-in as an executable in `root`, its scenario and its samples. */
export function standInFiles(root: string): {
  readonly binary: string
  readonly samples: string
  play(scenario: Partial<Scenario>): void
  alive(): readonly number[]
} {
  const binary = join(root, 'srsenb')
  const scenarioFile = join(root, 'scenario.json')
  const samples = join(root, 'samples')
  for (const file of [samples, `${samples}.pids`]) writeFileSync(file, '', { flag: 'a' })
  const command = [process.execPath, '--no-warnings', STAND_IN, scenarioFile]
    .map((part) => `'${part}'`)
    .join(' ')
  writeFileSync(binary, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 })
  return {
    binary,
    samples,
    alive: () => {
      const pids = readFileSync(`${samples}.pids`, 'utf8').split('\n').slice(0, -1).map(Number)
      return pids.filter((pid) => {
        const mark = markOf(pid)
        return mark !== undefined && isAlive(mark)
      })
    },
    // As a whole: a program that starts meanwhile reads the one or the other.
    play: (scenario) => {
      const content: Scenario = { onTerm: 'graceful', samples, ...scenario }
      writeFileSync(`${scenarioFile}.new`, JSON.stringify(content))
      renameSync(`${scenarioFile}.new`, scenarioFile)
    },
  }
}

/** The samples in a file. */
export function readSamples(file: string): readonly Sample[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [at = '0', gain] = line.split(' ')
      return { atMs: Number(at) / 1e6, isMuted: gain === '0' }
    })
}
