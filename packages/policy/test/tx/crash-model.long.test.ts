import {
  createTurns,
  type Lifecycle,
  lifecycleRef,
  type MutationTx,
  type Principal,
  systemPrincipal,
  transmitterRef,
} from '@steeple/contracts'
import { assert, fakeContext, memoryDb, reconcileOne, rounds, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { openPolicy } from '../../src/bundle/current-policy.ts'
import { MIGRATIONS } from '../../src/migrations.ts'
import { txReconciler } from '../../src/reconcile.ts'
import { disarmNow } from '../../src/routes/tx-routes.ts'
import type { DisarmNote } from '../../src/tx/disarm-note.ts'
import type { GateMemory, UnstoredDisarm } from '../../src/tx/gate-memory.ts'
import { gateMemory } from '../../src/tx/gate-memory.ts'
import { transmittersOf } from '../../src/tx/transmitters.ts'
import { type TxControl, txControlOf } from '../../src/tx/tx-control.ts'
import { OPEN_POLICY, settingsOf } from '../support/world.ts'

const machine = suite('policy/crash-model')

const ALICE: Principal = { kind: 'token', id: 'tok-1', name: 'alice', roles: new Set(['admin']) }
const FULL = Object.assign(new Error('the store takes no writes'), { code: 'store_unavailable', status: 503 })

type Kind = 'store' | 'commit' | 'reply' | 'note' | 'read' | 'stop'

interface Step {
  readonly kind: Kind
  readonly go: () => void
}

/** Where the real code waits for the world outside: each goes on when the search says so, and none after a crash. */
class Steps {
  readonly #waiting: Step[] = []
  isStoreBusy = false
  /** Writes of the note that are not over, also those whose turn behind its reads has not come. */
  notes = 0

  pause(kind: Kind): Promise<void> {
    return new Promise((go) => this.#waiting.push({ kind, go }))
  }

  /** The writer's queue is one: only its head goes on, and nothing behind it while it works. */
  go(choice: number): void {
    const first = this.#waiting.find(({ kind }) => kind === 'store')
    const free = this.#waiting.filter(
      (each) => each.kind !== 'store' || (each === first && !this.isStoreBusy),
    )
    this.#release(free[choice % Math.max(1, free.length)])
  }

  /** As while another process holds the store. */
  goButStore(): void {
    for (const each of this.#waiting.filter(({ kind }) => kind !== 'store')) this.#release(each)
  }

  #release(step: Step | undefined): void {
    if (step === undefined) return
    this.#waiting.splice(this.#waiting.indexOf(step), 1)
    step.go()
  }

  /** Whether anything waits that a stop or its note would need. */
  get isStopping(): boolean {
    return this.notes > 0 || this.#waiting.some(({ kind }) => kind === 'stop')
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }
}

/** What a crash leaves, and what a watcher of the air knows. */
class Node {
  readonly db = memoryDb(MIGRATIONS)
  noted: UnstoredDisarm | undefined
  /** Numbers the orders: an arm, and a disarm that somebody or the gate itself has begun. */
  #orders = 0
  #armed = 0
  #asked = 0
  /** The newest disarm that was carried out: silence, and nothing left to wait for but the store. */
  #carriedOut = 0
  country = 'DE'
  isFull = false
  run: Run = new Run(this)

  order(): number {
    this.#orders += 1
    return this.#orders
  }

  armedAt(order: number): void {
    this.#armed = Math.max(this.#armed, order)
  }

  disarmed(): void {
    this.#asked = this.order()
  }

  look(): void {
    const { radio, steps } = this.run
    if (!radio.isOnAir && !steps.isStopping) this.#carriedOut = this.#asked
    assert.ok(
      !radio.isOnAir || this.#carriedOut <= this.#armed,
      'on the air after a disarm that was carried out',
    )
  }

  crash(): void {
    // A transaction that is open is undone, which a store in memory cannot do without its connection.
    if (this.run.steps.isStoreBusy) return
    this.run.isDead = true
    this.#asked = this.#carriedOut
    this.run = new Run(this)
  }
}

/** One life of the service: the gate's real code over a store, a note and a radio that wait. */
class Run {
  readonly steps = new Steps()
  readonly radio = { isOnAir: false, stops: 0 }
  isDead = false
  readonly #node: Node
  readonly #begun: Promise<{
    readonly control: TxControl
    readonly memory: GateMemory
    arm(order: number): Promise<void>
    disarm(): Promise<void>
    reconcile(): Promise<void>
  }>

  constructor(node: Node) {
    this.#node = node
    this.#begun = this.#begin()
  }

  async #begin() {
    const node = this.#node
    const { db } = node
    const fake = fakeContext<unknown>({ config: {}, id: 'policy', settings: settingsOf(node.country), db })
    fake.services.set(transmitterRef.id, { stop: () => this.#stop() })
    const follow = async (): Promise<void> => this.steps.pause('commit')
    const nodes: Lifecycle = { state: async () => 'register', txArmed: follow, txDisarmed: follow }
    fake.services.set(lifecycleRef.id, nodes)
    const mutate = async (...args: Parameters<typeof fake.context.mutate>): Promise<void> => {
      if (args[1] === 'tx.auto_disarm') node.disarmed()
      await this.steps.pause('store')
      if (node.isFull) throw FULL
      this.steps.isStoreBusy = true
      try {
        await fake.context.mutate(...args)
      } finally {
        this.steps.isStoreBusy = false
      }
      await this.steps.pause('reply')
    }
    const settings = { get: () => settingsHere(fake.context.settings, node.country) }
    const context = Object.create(fake.context, { mutate: { value: mutate }, settings })
    const policy = await openPolicy(context)
    const memory = gateMemory(context)
    const transmitters = transmittersOf(context, memory)
    const control = txControlOf(context, policy, transmitters, { memory, note: this.#note() })
    const nowMs = (): number => fake.clock.nowMs()
    void control.recall()
    const change = (work: (tx: MutationTx) => Promise<unknown>): Promise<void> =>
      mutate(ALICE, 'tx', 'tx', async (tx) => void (await work(tx)))
    const reconciler = txReconciler({
      control,
      transmitters,
      clock: fake.clock,
      armed: () => undefined,
      selfDisarmed: () => undefined,
    })
    return {
      control,
      memory,
      arm: (order: number) =>
        change(async (tx) => {
          tx.afterCommit(() => node.armedAt(order))
          await control.arm(tx, ALICE, 'b3-lab')
        }),
      disarm: () =>
        disarmNow({ control, transmitters, nowMs }, ALICE, (atMs) =>
          change((tx) => control.disarm(tx, ALICE, atMs)),
        ),
      reconcile: async () => void (await reconcileOne(reconciler, 'gate')),
    }
  }

  /** Writes in turn, and the newest alone, as that of the disk. */
  #note(): DisarmNote {
    const inTurn = createTurns()
    let latest: { readonly disarm: UnstoredDisarm | undefined } | undefined
    return {
      prepare: async () => undefined,
      read: () =>
        inTurn(async () => {
          await this.steps.pause('read')
          return this.#node.noted
        }),
      write: (disarm) => {
        const own = { disarm }
        latest = own
        this.steps.notes += 1
        return inTurn(async () => {
          if (latest !== own) return
          await this.steps.pause('note')
          if (!this.isDead) this.#node.noted = disarm
        }).finally(() => {
          this.steps.notes -= 1
        })
      },
    }
  }

  async #stop(): Promise<void> {
    this.radio.stops += 1
    await this.steps.pause('stop')
    this.radio.isOnAir = false
  }

  async arm(): Promise<boolean> {
    const order = this.#node.order()
    try {
      await (await this.#begun).arm(order)
      return true
    } catch {
      return false
    }
  }

  /** As a driver does it: what was stopped since it asked is not started. */
  async start(): Promise<void> {
    const { control } = await this.#begun
    const { stops } = this.radio
    await control.permit('b3-lab').catch(() => (this.radio.stops += 1))
    if (this.radio.stops === stops && !this.isDead) this.radio.isOnAir = true
  }

  async disarm(): Promise<void> {
    const { disarm } = await this.#begun
    this.#node.disarmed()
    await disarm().catch(() => undefined)
  }

  async reconcile(): Promise<void> {
    await (await this.#begun).reconcile()
  }

  async isArmed(): Promise<boolean> {
    return (await (await this.#begun).control.state()).armed
  }

  get begun(): Promise<unknown> {
    return this.#begun
  }
}

function settingsHere<S extends { readonly server: object }>(settings: S, country: string): S {
  return { ...settings, server: { ...settings.server, country } }
}

const HELD = 'all but the store goes on'
const ORDERS: Readonly<Record<string, (node: Node) => void>> = {
  arm: (node) => void node.run.arm(),
  start: (node) => void node.run.start(),
  disarm: (node) => void node.run.disarm(),
  reconcile: (node) => void node.run.reconcile(),
  crash: (node) => node.crash(),
  [HELD]: ({ run }) => run.steps.goButStore(),
  'a gate is red': (node) => {
    node.country = 'FR'
  },
  'the gates are green': (node) => {
    node.country = 'DE'
  },
  'the store is full': (node) => {
    node.isFull = true
  },
  'the store has room': (node) => {
    node.isFull = false
  },
}

/** Has everything run that waits for nothing outside. */
async function settle(node: Node): Promise<void> {
  // A disarm asked of a service that begins is not carried out because nothing waits yet.
  await node.run.begun
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve))
  node.look()
}

/** Lets everything go on until that is over, and nothing waits. */
async function drain(node: Node, work: Promise<unknown> = Promise.resolve()): Promise<void> {
  let isOver = false
  void work.then(() => {
    isOver = true
  })
  for (let most = 0; most < 200; most += 1) {
    node.run.steps.go(0)
    await settle(node)
    if (isOver && node.run.steps.isEmpty) return
  }
  throw new Error('it goes on for ever')
}

async function opened(): Promise<Node> {
  const node = new Node()
  const fake = fakeContext<unknown>({ config: {}, id: 'policy', settings: settingsOf('DE'), db: node.db })
  const policy = await openPolicy(fake.context)
  await fake.context.mutate(systemPrincipal('policy'), 'policy.create', 'policy', async (tx) => {
    await policy.writeFirst(tx)
  })
  await fake.context.mutate(ALICE, 'policy.update', 'policy', async (tx) => {
    const { revision: _, updated_at: __, ...content } = await policy.read(tx)
    const spectrum: typeof content.spectrum = JSON.parse(JSON.stringify(OPEN_POLICY.spectrum))
    await policy.write(tx, { ...content, spectrum }, { by: 'alice', nowMs: fake.clock.nowMs() })
  })
  node.crash()
  await node.run.begun
  return node
}

/** Orders by their names, and steps that go on by their place among those that can. */
async function search(script: readonly (string | number)[]): Promise<void> {
  const node = await opened()
  for (const each of script) {
    if (typeof each === 'number') node.run.steps.go(each)
    else ORDERS[each]?.(node)
    await settle(node)
  }
  // Whatever came: a disarm ends in silence, a restart keeps it, and an arm after it is obeyed.
  node.country = 'DE'
  node.isFull = false
  await drain(node)
  await drain(node, node.run.disarm())
  for (const isRestarted of [false, true]) {
    if (isRestarted) node.crash()
    await drain(node, node.run.reconcile())
    await drain(node, node.run.start())
    assert.equal([await node.run.isArmed(), node.run.radio.isOnAir], [false, false])
  }
  const armed = node.run.arm()
  await drain(node, armed)
  assert.is(await armed, true, 'an arm after all that')
  await drain(node, node.run.start())
  assert.is(node.run.radio.isOnAir, true)
  node.crash()
  await drain(node, node.run.start())
  assert.is(node.run.radio.isOnAir, true, 'what was armed stays so over a crash')
  node.db.close()
}

machine('no order of steps and crashes puts what was disarmed on the air again', async () => {
  const order = fc.constantFrom(...Object.keys(ORDERS)).map((name) => [name])
  const step = fc.nat(3).map((place) => [place])
  const usual = fc.constantFrom<readonly (string | number)[]>(
    ['arm', 0, 0],
    ['arm', 0, 0, 0],
    ['arm', 0, 0, 0, 0, 0, 'start', 0, 0],
    ['start', 0],
    ['disarm', HELD, HELD],
    ['a gate is red', 'reconcile', HELD, HELD, 'the gates are green'],
    ['crash', 'start'],
    ['crash', 'start', 0, 0],
  )
  const script = fc.array(fc.oneof(step, usual, order), { maxLength: 16 })
  await fc.assert(
    fc.asyncProperty(script, (parts) => search(parts.flat())),
    { numRuns: rounds(400) },
  )
})

machine.run()
