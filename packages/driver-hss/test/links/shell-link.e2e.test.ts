import { isServiceError } from '@steeple/contracts'
import { assert, eventually, patient, suite } from '@steeple/testkit'
import type { WriteBackDriver } from '../../src/driver.ts'
import { engineHost } from '../../src/links/links.ts'
import { type ShellLinkOptions, shellLink } from '../../src/links/shell-link.ts'
import { open5gsDriver } from '../../src/open5gs/open5gs-driver.ts'
import { lookInto } from '../support/database.ts'
import { sharedMongo } from '../support/mongo-server.ts'
import { type EngineMood, type StandInEngine, startEngine } from '../support/stand-in-engine.ts'
import { subscriber } from '../support/subscribers.ts'

// The start of the server is no part of a test's time.
await sharedMongo()

const shell = suite('driver-hss/links/shell-link')

/** A shell takes seconds to start, and longer on a busy machine. */
const PATIENCE_MS = 180_000

async function withShell(
  options: ShellLinkOptions,
  work: (driver: WriteBackDriver, engine: StandInEngine) => Promise<void>,
): Promise<void> {
  const mongo = await sharedMongo()
  const look = await lookInto(mongo.url('open5gs'))
  await look.clear()
  const engine = await startEngine(mongo.port)
  const link = shellLink(engineHost(engine.socket, 'mongo'), 'open5gs', { answerMs: PATIENCE_MS, ...options })
  const driver = open5gsDriver({ name: 'docdb_shell', link, slices: () => [{ sst: 1 }], cancelMs: 10 })
  try {
    await work(driver, engine)
  } finally {
    await driver.close()
    await look.close()
    await engine.close()
  }
}

/** The message of the `southbound_unavailable` that `work` rejects with. */
async function failure(work: Promise<unknown>): Promise<string> {
  try {
    await work
  } catch (error) {
    if (isServiceError(error) && error.code === 'southbound_unavailable') return error.message
    throw error
  }
  throw new Error('it must fail')
}

shell('writes 1,000 subscribers through one shell, and no value of theirs is on a command line', async () => {
  await withShell({}, async (driver, engine) => {
    const many = Array.from({ length: 1000 }, (_none, index) =>
      subscriber(index, { ki: Buffer.alloc(16, 7), opc: Buffer.alloc(16, 9) }),
    )
    const result = await driver.upsert(many, patient())
    assert.is([...result.values()].filter((error) => error !== undefined).length, 0)
    assert.is(engine.commands.length, 1)
    const shown = JSON.stringify(engine.commands)
    assert.not.match(shown, /99999000|0707070707|0909090909/)
    assert.match(engine.input(), /0707070707/)
  })
})

const TROUBLES: readonly (readonly [EngineMood, RegExp])[] = [
  ['absent', /no such container/],
  ['stopped', /not running/],
  ['no-mongosh', /no mongosh/],
  ['unreachable-database', /mongosh ended with code 1/],
]
for (const [mood, words] of TROUBLES) {
  shell(`says what is wrong when the container is ${mood}, and works when it is well again`, async () => {
    await withShell({}, async (driver, engine) => {
      engine.mood = mood
      assert.match(await failure(driver.upsert([subscriber(1)], patient())), words)
      engine.mood = 'well'
      assert.equal([...(await driver.upsert([subscriber(1)], patient())).values()], [undefined])
    })
  })
}

for (const mood of ['hang', 'garbage'] as const) {
  shell(`gives up on a shell in the mood ${mood} and ends it`, async () => {
    await withShell({ answerMs: 400 }, async (driver, engine) => {
      engine.mood = mood
      assert.match(await failure(driver.upsert([subscriber(1)], patient())), /no answer within 400 ms/)
      await eventually(async () => assert.is(engine.running(), 0))
    })
  })
}

for (const mood of ['deaf', 'slow'] as const) {
  shell(
    `does not pile up shells of a container that is ${mood}, and goes on when they have ended`,
    async () => {
      await withShell({ answerMs: 300 }, async (driver, engine) => {
        engine.mood = mood
        const words: string[] = []
        for (let look = 0; look < 5; look += 1) {
          words.push(await failure(driver.upsert([subscriber(1)], patient())))
        }
        assert.is(engine.commands.length, 2)
        assert.match(words.at(-1) ?? '', /2 mongosh of earlier looks still run in it/)
        engine.mood = 'garbage'
        await eventually(async () => {
          engine.recreate()
          assert.match(
            await failure(driver.upsert([subscriber(1)], patient())),
            /no answer within 300 ms|answers nonsense/,
          )
        })
      })
    },
  )
}

shell('goes on in a new shell when the container is recreated between two calls', async () => {
  await withShell({}, async (driver, engine) => {
    await driver.upsert([subscriber(1)], patient())
    engine.recreate()
    await eventually(async () => assert.is(engine.running(), 0))
    assert.is((await driver.observe([subscriber(1).imsi], patient())).size, 1)
    assert.is(engine.commands.length, 2)
  })
})

shell('says that the socket is gone', async () => {
  const link = shellLink(engineHost('/tmp/steeple-no-such.sock', 'mongo'), 'open5gs')
  assert.match(await failure(link.find('subscribers', {}, {}, patient())), /socket is missing/)
  await link.close()
})

shell('leaves an idle shell no longer than it must', async () => {
  await withShell({ idleMs: 50 }, async (driver, engine) => {
    await driver.observe([subscriber(1).imsi], patient())
    await eventually(async () => assert.is(engine.running(), 0))
  })
})

shell('rejects at once when its signal fires and ends what was running', async () => {
  await withShell({}, async (driver, engine) => {
    engine.mood = 'hang'
    const stop = new AbortController()
    const call = driver.observe([subscriber(1).imsi], stop.signal)
    await eventually(async () => assert.is(engine.running(), 1))
    stop.abort(new Error('enough'))
    let reason: unknown
    await call.catch((error: unknown) => {
      reason = error
    })
    assert.is((reason as Error).message, 'enough')
    await eventually(async () => assert.is(engine.running(), 0))
  })
})

shell.run()
