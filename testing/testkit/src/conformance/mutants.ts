import type { Check } from './common.ts'

/** A driver that is wrong in one thing, made of a right one. */
export interface Mutant<Driver, Fixture> {
  /** What it does wrong: "swaps Ki and OPc". */
  readonly what: string
  /** Whether a fixture can tell it from a right one; always when absent. */
  readonly needs?: (fixture: Fixture) => boolean | Promise<boolean>
  /** The calls that are wrong, made anew for each driver. */
  wrong(right: Driver): Partial<Driver>
}

/** What each fixture of a driver has. */
export interface DriverFixture<Driver> {
  readonly driver: Driver
  close(): Promise<void>
}

/** The variable that has a conformance suite try its mutants in place of the driver: `steeple-plugin test --mutants` sets it. */
export const MUTANTS_VARIABLE = 'SVC_CONFORMANCE_MUTANTS'
/** A wrong driver that waits for what never comes has failed by then, ms. */
const CHECK_LIMIT_MS = 30_000

/** A driver with the calls of a mutant in place of its own. */
export function wrongDriver<Driver extends object>(
  right: Driver,
  { wrong }: { wrong(right: Driver): Partial<Driver> },
): Driver {
  return replaced(right, wrong(right))
}

/** The fixture with a wrong driver in place of its own. */
function mutated<Driver extends object, Fixture extends DriverFixture<Driver>>(
  fixture: Fixture,
  mutant: Mutant<Driver, Fixture>,
): Fixture {
  const driver = wrongDriver(fixture.driver, mutant)
  return replaced(fixture, { driver } as Partial<Fixture>)
}

/** An object with other members. Those that stay are called on the object itself: it may be of a class. */
function replaced<T extends object>(object: T, members: Partial<T>): T {
  return new Proxy(object, {
    get: (target, name) => {
      if (name in members) return Reflect.get(members, name)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
    has: (target, name) => name in members || name in target,
  })
}

/** The sentence of the first check that a mutant fails; undefined for one that passes all. */
async function firstBite<Driver extends object, Fixture extends DriverFixture<Driver>>(
  checks: readonly Check<Fixture>[],
  make: () => Promise<Fixture>,
  mutant: Mutant<Driver, Fixture>,
): Promise<string | undefined> {
  for (const { sentence, body } of checks) {
    const fixture = await make()
    try {
      await inTime(body(mutated<Driver, Fixture>(fixture, mutant)))
    } catch {
      return sentence
    } finally {
      await fixture.close()
    }
  }
  return undefined
}

/**
 * Registers a test for each mutant of a driver: that a check fails it. What a fixture cannot tell is said, and passes. The
 * check that failed one comes first for the next: they are alike, and each look costs a core that really restarts seconds.
 */
export function mutantTests<Driver extends object, Fixture extends DriverFixture<Driver>>(
  all: (sentence: string, body: () => Promise<void>) => void,
  checks: readonly Check<Fixture>[],
  mutants: readonly Mutant<Driver, Fixture>[],
  make: () => Promise<Fixture>,
): void {
  let order = checks
  for (const mutant of mutants)
    all(`finds a driver that ${mutant.what}`, async () => {
      const bite = await firstBite(order, make, mutant)
      const isBite = ({ sentence }: Check<Fixture>): boolean => sentence === bite
      order = [...order.filter(isBite), ...order.filter((check) => !isBite(check))]
      if (bite !== undefined) return
      if (await isOutOfReach(mutant, make)) {
        process.stderr.write(`# not tried: the fixture cannot tell a driver that ${mutant.what}\n`)
        return
      }
      throw new Error(`the suite passes your driver when it ${mutant.what}: look at what the fixture reads`)
    })
}

async function isOutOfReach<Driver, Fixture extends DriverFixture<Driver>>(
  { needs }: Mutant<Driver, Fixture>,
  make: () => Promise<Fixture>,
): Promise<boolean> {
  if (needs === undefined) return false
  const fixture = await make()
  try {
    return !(await needs(fixture))
  } finally {
    await fixture.close()
  }
}

async function inTime(work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('it takes too long')), CHECK_LIMIT_MS)
  try {
    await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
