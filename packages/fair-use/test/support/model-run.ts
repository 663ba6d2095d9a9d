import {
  type Db,
  type ImsiHash,
  type Instance,
  type Principal,
  type QuotaKeeper,
  quotaKeeperRef,
  type Request,
  subscribersRef,
  type UsageListener,
  usageLedgerRef,
  usageListenerRef,
} from '@steeple/contracts'
import { assert, type FakeContext, fakeClock, fakeContext, memoryDb } from '@steeple/testkit'
import { MIGRATIONS } from '../../src/migrations.ts'
import type { FairUseConfig } from '../../src/parts.ts'
import { plugin } from '../../src/plugin.ts'
import { LEDGER_MIGRATIONS, type TestLedger, testLedger } from './ledger.ts'
import { type MemorySims, memorySims } from './subscribers.ts'
import { noTruth, plainAccount, type Truth } from './truth.ts'

const CONFIG: FairUseConfig = {
  enabled: true,
  usage_interval: '60s',
  time_zone: 'UTC',
  throttle_bps: 64_000,
  throttle_reach: 'kick',
}
const OPERATOR: Principal = { kind: 'user', id: 'o', name: 'o', roles: new Set() }

/** One SIM of a run and what is true of it. */
export interface Subject {
  readonly imsi: ImsiHash
  readonly truth: Truth
}

/** The handles of the plugin and of the ledger beside it. */
export interface Stores {
  readonly fairUse: Db
  readonly ledger: Db
  close(): void
}

export function memoryStores(): Stores {
  const db = memoryDb([...MIGRATIONS, ...LEDGER_MIGRATIONS])
  return { fairUse: db, ledger: db, close: () => db.close() }
}

/** The plugin over a store that outlives it, with the truth beside. */
export class ModelRun {
  readonly stores: Stores
  readonly subjects: readonly Subject[]
  readonly sims: MemorySims
  readonly ledger: TestLedger
  readonly clock: ReturnType<typeof fakeClock>
  readonly told: string[] = []
  isDoubted = false
  /** Grows with each step. */
  order = 0
  #fake: FakeContext<FairUseConfig> | undefined
  #instance: Instance | undefined
  #believedMs = 0
  #collected = 0

  constructor(imsis: readonly ImsiHash[], stores: Stores = memoryStores()) {
    this.stores = stores
    this.subjects = imsis.map((imsi) => ({ imsi, truth: noTruth() }))
    this.sims = memorySims(imsis)
    this.ledger = testLedger(stores.ledger, () => this.#service<UsageListener>(usageListenerRef.id))
    this.clock = Object.assign(fakeClock(Date.UTC(2026, 0, 28, 20)), {
      doubt: () => (this.isDoubted ? 'the clock leapt' : undefined),
    })
  }

  get isHere(): boolean {
    return this.#instance !== undefined
  }

  /** The moment by which periods go. */
  now(): number {
    if (!this.isDoubted) this.#believedMs = this.clock.nowMs()
    return this.#believedMs
  }

  /** The clock is not believed from here on: the plugin has looked at it a moment ago. */
  async doubt(): Promise<void> {
    await this.#service<QuotaKeeper>(quotaKeeperRef.id)?.used([])
    this.now()
    this.isDoubted = true
  }

  async start(): Promise<void> {
    await this.leave()
    const fake = fakeContext({ id: 'fair-use', config: CONFIG, db: this.stores.fairUse, clock: this.clock })
    fake.services.set(subscribersRef.id, this.sims.service)
    fake.services.set(usageLedgerRef.id, this.ledger)
    this.#fake = fake
    this.#instance = await plugin.setup(fake.context)
    for (const [id, service] of this.#instance.services ?? []) fake.services.set(id, service)
    await this.#instance.start?.()
    await this.settle()
  }

  /** As a kill does: what was to be looked at is forgotten. */
  async leave(): Promise<void> {
    this.#collect()
    await this.#fake?.dispose()
    this.#fake = undefined
    this.#instance = undefined
    this.#collected = 0
  }

  /** Lets the reconciler do what it finds, until that is all. */
  async settle(): Promise<void> {
    const [reconciler] = this.#instance?.reconcilers ?? []
    for (let pass = 0; pass < 3; pass++)
      await reconciler?.reconcile((await reconciler.keys()) ?? [], new AbortController().signal)
    this.#collect()
  }

  /** `POST …/quota`; false when it has nothing to top up. */
  async post(imsi: ImsiHash, body: object): Promise<boolean> {
    const route = this.#instance?.routes?.find(({ path }) => path.endsWith('/quota'))
    const request = {
      params: { imsi },
      body,
      header: () => undefined,
      mutate: (target: string, work: (tx: unknown) => Promise<unknown>) =>
        this.#fake?.context.mutate(OPERATOR, 'sim.quota', target, async (tx) => void (await work(tx))),
    }
    try {
      // What the handler reads of a request.
      await route?.handle(request as unknown as Request<never, never, never>)
      return true
    } catch (error) {
      assert.is((error as { readonly code?: string }).code, 'quota_not_set')
      return false
    }
  }

  async resume(imsi: ImsiHash, isOverride: boolean): Promise<boolean> {
    return this.#fake === undefined || (await this.sims.resume(this.#fake.context, imsi, isOverride))
  }

  /** That the plugin says and does what is true. */
  async check(): Promise<void> {
    const imsis = this.subjects.map(({ imsi }) => imsi)
    const used = await this.#service<QuotaKeeper>(quotaKeeperRef.id)?.used(imsis)
    for (const { imsi, truth } of this.subjects) {
      const account = plainAccount(truth, this.now(), this.isDoubted)
      assert.is(used?.get(imsi)?.limitBytes, account?.limit, `what ${imsi} may use`)
      if (account !== undefined) assert.is(used?.get(imsi)?.usedBytes, account.used, `what ${imsi} has used`)
      this.#checkHeld(imsi, account?.isHeld === true ? truth.quota?.action : undefined)
      if (account === undefined) continue
      const edge = `${imsi} ${new Date(account.startMs).toISOString()} ${account.limit}`
      const isWarned = account.used * 100 >= account.limit * 80
      assert.ok(!account.isOver || this.told.includes(`quota.exceeded ${edge}`), `100 % of ${edge}`)
      assert.ok(!isWarned || this.told.includes(`quota.warning ${edge}`), `80 % of ${edge}`)
    }
    assert.is(new Set(this.told).size, this.told.length, 'no edge is told twice')
  }

  #checkHeld(imsi: ImsiHash, how: string | undefined): void {
    const sim = this.sims.sims.get(imsi)
    assert.is(sim?.capBps, how === 'throttle' ? CONFIG.throttle_bps : undefined)
    // What an operator has suspended stays so, whatever the quota is about.
    if (sim?.reason === 'operator') assert.is(sim.state, 'suspended')
    else assert.is(sim?.state, how === 'suspend' ? 'suspended' : 'in-use')
  }

  #collect(): void {
    const observed = this.#fake?.observed ?? []
    for (const { type, subject, data } of observed.slice(this.#collected))
      this.told.push(`${type} ${subject} ${String(data.period_start)} ${String(data.allowance_bytes)}`)
    this.#collected = observed.length
  }

  #service<T>(id: string): T | undefined {
    // Kept by id; the caller knows its type.
    return this.#fake?.services.get(id) as T | undefined
  }
}
