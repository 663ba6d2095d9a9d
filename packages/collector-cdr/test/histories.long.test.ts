import { readFileSync, writeFileSync } from 'node:fs'
import type { Collector } from '@steeple/contracts'
import { assert, fakeClock, rounds, suite } from '@steeple/testkit'
import fc from 'fast-check'
import type { ModelReport } from './support/encode.ts'
import { type ModelChf, type ModelOptions, modelChf } from './support/model-chf.ts'
import { imsiOf, Ledger, makeWorld, patient } from './support/world.ts'

const histories = suite('collector-cdr/histories')

const PHONES = [imsiOf(1), imsiOf(2), imsiOf(3)] as const
/** Before the time of the files, so that none is written in the future of the collector. */
const BEGIN_MS = 1_700_000_000_000

type Step =
  | { readonly kind: 'create'; readonly phone: number }
  | {
      readonly kind: 'update' | 'partial' | 'release'
      readonly session: number
      readonly report: ModelReport
    }
  | { readonly kind: 'crash' | 'restart' | 'poll' | 'uncounted' | 'reopen' | 'aborted' }

const report: fc.Arbitrary<ModelReport> = fc.record({
  ratingGroup: fc.constant(1),
  upBytes: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 2 ** 30, max: 2 ** 32 - 1 })),
  downBytes: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 2 ** 30, max: 2 ** 32 - 1 })),
})
const onSession = (kind: 'update' | 'partial' | 'release'): fc.Arbitrary<Step> =>
  fc.record({ kind: fc.constant(kind), session: fc.nat({ max: 40 }), report })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('create' as const), phone: fc.nat({ max: 2 }) }) },
  { weight: 9, arbitrary: onSession('update') },
  { weight: 2, arbitrary: onSession('partial') },
  { weight: 3, arbitrary: onSession('release') },
  { weight: 1, arbitrary: fc.constant({ kind: 'crash' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
  { weight: 7, arbitrary: fc.constant({ kind: 'poll' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'uncounted' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'aborted' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'reopen' as const }) },
)

/** What a history was, told from outside. */
interface Truth {
  /** Every report that the CHF took, by phone. */
  readonly taken: Map<string, ModelReport[]>
  /** Those that a counted poll could see. */
  readonly seen: Set<ModelReport>
  /** Those of a record of which something had been seen when a run ended. */
  readonly lost: Set<string>
}

function look({ shown }: ModelChf, { seen }: Truth): void {
  for (const records of shown.values())
    for (const { reports } of records) for (const each of reports) seen.add(each)
}

/** The phones of whose records something was seen, and not all. */
function losers(
  runReports: ReadonlyMap<string, ModelReport[]>,
  phoneOf: Map<string, string>,
  { seen }: Truth,
) {
  const phones = new Set<string>()
  for (const [session, reports] of runReports) {
    const isPart = reports.some((one) => seen.has(one)) && reports.some((one) => !seen.has(one))
    const phone = phoneOf.get(session)
    if (isPart && phone !== undefined) phones.add(phone)
  }
  return phones
}

/** A CHF, the sessions of its present run, and what is true of all runs. */
class History {
  readonly truth: Truth = { taken: new Map(), seen: new Set(), lost: new Set() }
  #sessions: string[] = []
  #reports = new Map<string, ModelReport[]>()
  #phones = new Map<string, string>()
  readonly #chf: ModelChf

  constructor(chf: ModelChf) {
    this.#chf = chf
  }

  take(one: Step): void {
    if (one.kind === 'create') this.#create(PHONES[one.phone] ?? PHONES[0])
    else if (one.kind === 'crash' || one.kind === 'restart') this.#end(one.kind)
    else if ('session' in one && this.#sessions.length > 0) {
      const session = this.#sessions[one.session % this.#sessions.length] ?? ''
      const own = { ...one.report }
      this.#chf[one.kind](session, own)
      this.#reports.get(session)?.push(own)
      const phone = this.#phones.get(session) ?? ''
      this.truth.taken.set(phone, [...(this.truth.taken.get(phone) ?? []), own])
    }
  }

  #create(phone: string): void {
    const session = this.#chf.create(phone)
    this.#sessions.push(session)
    this.#phones.set(session, phone)
    this.#reports.set(session, [])
  }

  #end(kind: 'crash' | 'restart'): void {
    for (const phone of losers(this.#reports, this.#phones, this.truth)) this.truth.lost.add(phone)
    this.#sessions = []
    this.#reports = new Map()
    this.#phones = new Map()
    this.#chf[kind]()
  }
}

function judge({ taken, seen, lost }: Truth, ledger: Ledger, isKnowable: boolean): void {
  for (const phone of PHONES) {
    const counted = (taken.get(phone) ?? []).filter((one) => seen.has(one))
    const sum = (of: 'upBytes' | 'downBytes'): number => counted.reduce((all, one) => all + one[of], 0)
    assert.equal(ledger.of(phone), [sum('upBytes'), sum('downBytes')], phone)
    if (isKnowable && lost.has(phone)) assert.ok(ledger.isIncomplete(phone), `${phone} lost something`)
  }
}

async function follow(steps: readonly Step[], options: ModelOptions): Promise<void> {
  await using world = await makeWorld(fakeClock(BEGIN_MS))
  const chf = modelChf(world.dir.path, () => world.clock.nowMs(), options)
  const ledger = new Ledger()
  const history = new History(chf)
  let collector: Collector = world.open()
  const poll = async (): Promise<void> => {
    await ledger.round(collector)
    look(chf, history.truth)
  }
  const uncounted = async (signal: AbortSignal): Promise<void> => {
    await collector.poll(ledger.position, signal).catch(() => undefined)
  }
  for (const one of steps) {
    await world.clock.advance(1_000)
    if (one.kind === 'poll') await poll()
    else if (one.kind === 'uncounted') await uncounted(patient())
    else if (one.kind === 'aborted') await uncounted(AbortSignal.abort())
    else if (one.kind === 'reopen') collector = world.open()
    else history.take(one)
  }
  // Whoever has lost something shows itself once more.
  await world.clock.advance(1_000)
  history.take({ kind: 'crash' })
  for (const [index] of PHONES.entries()) {
    history.take({ kind: 'create', phone: index })
    history.take({
      kind: 'update',
      session: index,
      report: { ratingGroup: 1, upBytes: 1, downBytes: 1 },
    })
  }
  await poll()
  judge(history.truth, ledger, options.fixedId === undefined)
}

/** A version of the file of one phone: its bytes, and the reports that it holds. */
interface Version {
  readonly bytes: Buffer
  readonly reports: readonly ModelReport[]
}

const written: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), phone: fc.constant(0) }) },
  { weight: 9, arbitrary: onSession('update') },
  { weight: 3, arbitrary: onSession('release') },
)

/** Every version of a file that a CHF writes while it does these steps. No two reports are the same, as no two of a UPF are. */
async function versionsOf(
  world: Awaited<ReturnType<typeof makeWorld>>,
  chf: ModelChf,
  steps: readonly Step[],
): Promise<readonly Version[]> {
  const versions: Version[] = []
  const history = new History(chf)
  for (const [index, one] of [{ kind: 'create', phone: 0 } as const, ...steps].entries()) {
    await world.clock.advance(1_000)
    const isReport = 'report' in one
    history.take(isReport ? { ...one, report: { ratingGroup: 1, upBytes: index + 1, downBytes: 1 } } : one)
    if (!isReport) continue
    const reports = (chf.shown.get(PHONES[0]) ?? []).flatMap((record) => record.reports)
    versions.push({ bytes: readFileSync(chf.fileOf(PHONES[0])), reports })
  }
  return versions
}

for (const [words, options] of [
  ['each in a record of its own', {}],
  ['all in the last one', { names: 'supi' }],
  ['in records that are split early', { splitBytes: 420 }],
] as const)
  histories(
    `counts each report once, in whatever order and however often versions of a file come: ${words}`,
    async () => {
      const orders = fc.array(fc.nat({ max: 60 }), { minLength: 5, maxLength: 40 })
      await fc.assert(
        fc.asyncProperty(fc.array(written, { minLength: 5, maxLength: 40 }), orders, async (steps, order) => {
          await using world = await makeWorld(fakeClock(BEGIN_MS))
          const chf = modelChf(world.dir.path, () => world.clock.nowMs(), options)
          const versions = await versionsOf(world, chf, steps)
          const [ledger, seen] = [new Ledger(), new Set<ModelReport>()]
          let collector = world.open()
          for (const pick of versions.length === 0 ? [] : order) {
            const version = versions[pick % versions.length]
            if (version === undefined) continue
            writeFileSync(chf.fileOf(PHONES[0]), version.bytes)
            if (pick % 7 === 0) collector = world.open()
            await ledger.round(collector)
            for (const each of version.reports) seen.add(each)
            const up = [...seen].reduce((sum, { upBytes }) => sum + upBytes, 0)
            assert.equal(ledger.of(PHONES[0]), [up, seen.size])
          }
        }),
        { numRuns: rounds(60) },
      )
    },
  )

for (const [words, options] of [
  ['of a CHF whose id is another after each start', {}],
  ['of a CHF that deletes its files when it ends', { cleansUp: true, names: 'supi' }],
  ['of a CHF with a fixed id', { fixedId: 'fixed' }],
  ['of records that are split early', { splitBytes: 420 }],
] as const)
  histories(`counts exactly what was to be seen, whatever restarts when: ${words}`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), (steps) => follow(steps, options)),
      { numRuns: rounds(40) },
    )
  })

histories.run()
