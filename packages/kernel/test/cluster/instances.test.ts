import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemPrincipal } from '@steeple/contracts'
import { initNode } from '@steeple/secrets'
import { failure, onPostgres, type StoreBox } from '@steeple/store/testing'
import { assert, eventually, tempDir } from '@steeple/testkit'
import { systemClock, systemTimers, type Timers } from '../../src/clock/deadline.ts'
import type { Kernel } from '../../src/create-kernel.ts'
import { startKernel } from '../start-kernel.ts'

/** Data directories of instances that have the same keys, and the kernels that run on them. */
interface Fleet {
  /** The keys that all of them have. */
  readonly keys: string
  start(name: string, timers?: Timers): Promise<Kernel>
  [Symbol.asyncDispose](): Promise<void>
}

async function fleet(box: StoreBox): Promise<Fleet> {
  const dir = await tempDir()
  const running: Kernel[] = []
  await initNode({ dataDir: join(dir.path, 'first'), clock: systemClock(), name: 'box' })
  let made = 0
  return {
    keys: join(dir.path, 'first', 'keys'),
    start: async (instance, timers = systemTimers()) => {
      const dataDir = join(dir.path, `data-${made++}`)
      await cp(join(dir.path, 'first'), dataDir, { recursive: true })
      const kernel = await startKernel(dataDir, { url: box.url, instance, timers })
      running.push(kernel)
      kernel.begin()
      return kernel
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map((kernel) => kernel.close()))
      await dir.remove()
    },
  }
}

/** Timers of a process that can be frozen: what is due meanwhile runs afterwards. */
function freezable(): Timers & { freeze(): void; wake(): void } {
  const system = systemTimers()
  let late: (() => void)[] | undefined
  return {
    ...system,
    setTimeout: (run, delayMs) =>
      system.setTimeout(() => {
        if (late === undefined) run()
        else late.push(run)
      }, delayMs),
    freeze: () => {
      late = []
    },
    wake: () => {
      const due = late ?? []
      late = undefined
      for (const run of due) run()
    },
  }
}

const roleOf = (kernel: Kernel): string => kernel.info.instance().role

async function note(kernel: Kernel, target: string): Promise<void> {
  await kernel.mutations.run({
    principal: systemPrincipal('test'),
    action: 'test.note',
    target,
    owner: 'test',
    work: async () => ({ status: 204 }),
  })
}

onPostgres('kernel/cluster/instances', (test, store) => {
  test('one of three leads, and another does at once when it stops', async () => {
    await using box = await store()
    await using all = await fleet(box)
    const first = await all.start('a')
    const others = [await all.start('b'), await all.start('c')]
    assert.equal([first, ...others].map(roleOf), ['leader', 'follower', 'follower'])
    assert.equal(others[0]?.info.instance(), {
      name: 'b',
      role: 'follower',
      leader: 'a',
      epoch: 1,
      isMachine: false,
    })
    await first.close()
    await eventually(() => assert.equal(others.map(roleOf).sort(), ['follower', 'leader']))
    await eventually(() =>
      assert.equal(
        others.map((one) => one.info.instance().epoch),
        [2, 2],
      ),
    )
  })

  test('a leader that was frozen leads no longer when it wakes', async () => {
    await using box = await store()
    await using all = await fleet(box)
    const timers = freezable()
    const [first, second] = [await all.start('a', timers), await all.start('b')]
    timers.freeze()
    let haveTwoLed = false
    await eventually(() => {
      const roles = [first, second].map(roleOf)
      haveTwoLed ||= roles.every((role) => role === 'leader')
      assert.is(roles[1], 'leader')
    })
    // No timer of the first has run since: it knows by the time that has passed.
    assert.not(haveTwoLed, 'not before the lease of the first has ended')
    assert.is(roleOf(first), 'follower')
    timers.wake()
    await eventually(() => assert.is(first.info.instance().leader, 'b'))
    assert.is(roleOf(second), 'leader')
  })

  test('one that is meant to be alone refuses a store that another serves', async () => {
    await using box = await store()
    await using all = await fleet(box)
    await all.start('a')
    const error = await failure(() => all.start(''))
    assert.is(error?.code, 'store_invalid')
    assert.match(error?.message ?? '', /cluster\.instance/)
  })

  test('one whose keys are others is refused', async () => {
    await using box = await store()
    await using all = await fleet(box)
    await all.start('a')
    const dir = await tempDir()
    await initNode({ dataDir: dir.path, clock: systemClock(), name: 'box' })
    // Of all keys the one differs that nothing in the store tells.
    const theirs = (await readdir(all.keys)).filter((name) => name !== 'jwt.key')
    for (const name of theirs) await cp(join(all.keys, name), join(dir.path, 'keys', name))
    const error = await failure(() => startKernel(dir.path, { url: box.url, instance: 'b' }))
    assert.is(error?.code, 'secrets_invalid', error?.message)
    assert.match(error?.message ?? '', /copy its keys directory/)
    await dir.remove()
  })

  test('one that died is followed by itself', async () => {
    await using box = await store()
    await using all = await fleet(box)
    const timers = freezable()
    await all.start('', timers)
    timers.freeze()
    assert.is(roleOf(await all.start('')), 'leader')
  })

  test('what one commits is heard by the others, and the trail stays one chain', async () => {
    await using box = await store()
    await using all = await fleet(box)
    const second = await all.start('b')
    const kernels = [await all.start('a'), second, await all.start('c')]
    const heard = new Set<Kernel>()
    const ending = new AbortController()
    for (const kernel of kernels) kernel.outbox.onCommit(() => void heard.add(kernel), ending.signal)
    await eventually(async () => {
      await note(second, 'one')
      assert.is(heard.size, 3)
    })
    await Promise.all(Array.from({ length: 90 }, (_, i) => note(kernels[i % 3] ?? second, `n${i}`)))
    const verdict = await kernels[2]?.audit.verify()
    assert.is(verdict?.ok, true, verdict?.reason)
    const entries = (await kernels[0]?.audit.list({ action: 'test.note' }, 200, undefined)) ?? []
    assert.is(new Set(entries.map(({ target }) => target)).size, 91)
    ending.abort()
  })
}).run()
