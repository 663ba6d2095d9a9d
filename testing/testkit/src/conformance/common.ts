import * as assert from 'uvu/assert'
import { type BodyOptions, type Suite, suite } from '../suite.ts'
import { type DriverFixture, MUTANTS_VARIABLE, type Mutant, mutantTests } from './mutants.ts'

/** What every fixture has: the look from outside and the end. */
export interface WorldFixture {
  /**
   * Everything outside the driver that it may change, as a text: files, rows, processes, and how often they were written or
   * restarted, so that what is done again shows. Equal texts, equal worlds.
   */
  world(): Promise<string>
  /** Ends the driver and what it talked to. */
  close(): Promise<void>
}

/** A suite in which each test gets a fresh fixture. */
export interface FixtureSuite<Fixture> {
  (sentence: string, body: (fixture: Fixture) => Promise<void>): void
  run(): void
}

/** Makes a suite that opens a fixture for each test and closes it whatever happens; the limit covers all three. */
export function fixtureSuite<Fixture extends { close(): Promise<void> }>(
  name: string,
  make: () => Promise<Fixture>,
  options: BodyOptions = {},
): FixtureSuite<Fixture> {
  const inner: Suite = suite(name)
  const test = (sentence: string, body: (fixture: Fixture) => Promise<void>): void =>
    inner(
      sentence,
      async () => {
        const fixture = await make()
        try {
          await body(fixture)
        } finally {
          await fixture.close()
        }
      },
      options,
    )
  return Object.assign(test, { run: inner.run })
}

/** One requirement of a suite: what it says, and what tries it. */
export interface Check<Fixture> {
  readonly sentence: string
  readonly body: (fixture: Fixture) => Promise<void>
}

/** A mutant is tried with one check after the other, ms. */
const MUTANT_LIMIT_MS = 900_000
/** A check may take so long against a real program on a busy machine, ms. */
const CHECK_LIMIT_MS = 300_000

/** Registers the checks as a suite and runs it. */
export function runChecks<Fixture extends { close(): Promise<void> }>(
  name: string,
  checks: readonly Check<Fixture>[],
  make: () => Promise<Fixture>,
  options: BodyOptions = {},
): void {
  const all = fixtureSuite(name, make, { limitMs: CHECK_LIMIT_MS, ...options })
  for (const { sentence, body } of checks) all(sentence, body)
  all.run()
}

/** As `runChecks` for a driver; where mutants are asked for, each of them is tried after the driver itself has passed. */
export function runDriverChecks<Driver extends object, Fixture extends DriverFixture<Driver>>(
  name: string,
  checks: readonly Check<Fixture>[],
  mutants: readonly Mutant<Driver, Fixture>[],
  make: () => Promise<Fixture>,
  options: BodyOptions = {},
): void {
  runChecks(name, checks, make, options)
  if (process.env[MUTANTS_VARIABLE] !== '1') return
  const wrong = suite(`${name}, by wrong drivers`)
  mutantTests<Driver, Fixture>(
    (sentence, body) => wrong(sentence, body, { limitMs: MUTANT_LIMIT_MS, ...options }),
    checks,
    mutants,
    make,
  )
  wrong.run()
}

/** The error that `work` rejects with; fails when it does not reject. */
export async function rejection(work: () => Promise<unknown>, why: string): Promise<unknown> {
  try {
    await work()
  } catch (error) {
    return error
  }
  return assert.unreachable(why)
}

/** A signal that never fires. */
export function patient(): AbortSignal {
  return new AbortController().signal
}

/** A call with an aborted signal rejects and leaves the world as it was. */
export async function honoursAbort(
  fixture: WorldFixture,
  call: (signal: AbortSignal) => Promise<unknown>,
  what: string,
): Promise<void> {
  const before = await fixture.world()
  await rejection(() => call(AbortSignal.abort()), `${what} must reject when its signal is aborted`)
  assert.is(await fixture.world(), before, `${what} changed the world although its signal was aborted`)
}

/** `work` leaves the world as it was. */
export async function changesNothing(fixture: WorldFixture, work: () => Promise<unknown>): Promise<void> {
  const before = await fixture.world()
  await work()
  assert.is(await fixture.world(), before)
}

/** `work` changes the world. */
export async function changesTheWorld(
  fixture: WorldFixture,
  what: string,
  work: () => Promise<unknown>,
): Promise<void> {
  const before = await fixture.world()
  await work()
  assert.is.not(await fixture.world(), before, `${what} must reach the world`)
}

/** A whole number of at least 0 that JSON carries exactly. */
export function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
