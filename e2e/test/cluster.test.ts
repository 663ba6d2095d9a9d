import { join } from 'node:path'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { ask, type Books, judge, longestGapMs, startWriters } from '../harness/cluster/books.ts'
import { createFleet, type Fleet } from '../harness/cluster/fleet.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'
import { startLabCore } from '../harness/lab-core.ts'
import { runSvc } from '../harness/service.ts'

const cluster = suite('e2e/cluster')

const WRITERS = 8
const NAMES = ['a', 'b', 'c'] as const
/** The promise is 10 s; here beside other work. */
const TAKEOVER_MS = 20_000
const FREEZE_MS = Number(process.env.SVC_FREEZE_MS ?? 15_000)
const SETTLED_MS = 60_000

async function withFleet(work: (fleet: Fleet, store: string) => Promise<void>): Promise<void> {
  await using dir = await tempDir()
  const schema = await ownSchema()
  const core = await startLabCore(join(dir.path, 'lab-core'))
  const fleet = await createFleet({ dir: dir.path, store: () => schema.url, env: core.env })
  try {
    for (const name of NAMES) await fleet.start(name)
    await work(fleet, schema.url)
  } finally {
    await fleet.end()
    await core.stop()
    await schema.drop()
  }
}

/** SIMs that are issued through one instance and pushed to the HSS by whoever leads. */
async function issue(fleet: Fleet, name: string): Promise<readonly string[]> {
  const { status, body } = await ask(fleet, fleet.of(name).url, 'POST', '/v1/sims', { body: { count: 3 } })
  assert.is(status, 201, JSON.stringify(body))
  return (body.sims as readonly { imsi_sha256_12: string }[]).map((sim) => sim.imsi_sha256_12)
}

async function provisioned(fleet: Fleet, by: string, sims: readonly string[]): Promise<void> {
  await eventually(async () => {
    const records = await Promise.all(
      sims.map((sim) => ask(fleet, fleet.of(by).url, 'GET', `/v1/sims/${sim}`)),
    )
    return records.every(({ body }) => body.provisioning.status === 'synced')
  }, SETTLED_MS)
}

if (PG_URL === '') process.stdout.write('needs SVC_TEST_PG_URL\n')
else {
  cluster('loses no answered write while leaders die and freeze, and never has two of them act', () =>
    withFleet(async (fleet, store) => {
      const others = (name: string): readonly string[] => NAMES.filter((one) => one !== name)
      const writers = startWriters(fleet.front(), WRITERS)
      const first = await fleet.leader(NAMES, TAKEOVER_MS)
      const [follower = ''] = others(first)
      const sims = [...(await issue(fleet, follower)), ...(await issue(fleet, first))]
      await provisioned(fleet, first, sims)
      assert.equal([...new Set(fleet.hssCalls().map(({ instance }) => instance))], [first])

      const killedMs = performance.now()
      const killedAtMs = Date.now()
      await fleet.of(first).kill()
      const second = await fleet.leader(others(first), TAKEOVER_MS)
      const takeoverMs = (await fleet.ledSinceMs(second, killedAtMs)) - killedAtMs
      sims.push(...(await issue(fleet, second)))
      await provisioned(fleet, second, sims)
      await fleet.start(first)

      const frozen = fleet.of(second).child
      frozen.kill('SIGSTOP')
      const frozenMs = performance.now()
      const frozenAtMs = Date.now()
      const third = await fleet.leader(others(second), TAKEOVER_MS)
      const thawoverMs = (await fleet.ledSinceMs(third, frozenAtMs)) - frozenAtMs
      sims.push(...(await issue(fleet, third)))
      await provisioned(fleet, third, sims)
      await new Promise((resolve) =>
        setTimeout(resolve, Math.max(0, FREEZE_MS - (performance.now() - frozenMs))),
      )
      const wokenAtMs = Date.now()
      frozen.kill('SIGCONT')
      await eventually(async () => (await fleet.seen(second))?.leader === third, SETTLED_MS)
      sims.push(...(await issue(fleet, second)))
      await provisioned(fleet, second, sims)
      const late = fleet
        .hssCalls()
        .filter(({ instance, atMs }) => instance === second && atMs > frozenAtMs + 500)
      assert.equal(late, [], `${second} froze at ${frozenAtMs} and woke at ${wokenAtMs}`)

      const books: Books = await writers.stop()
      await judge(fleet.front(), fleet.of(third).url, books)
      const verdict = await runSvc(['audit', 'verify', '--data-dir', fleet.of(third).dataDir], {
        SVC_STORE_URL: store,
      })
      assert.is(verdict.code, 0, verdict.stdout + verdict.stderr)
      process.stdout.write(
        `\n# ${books.answered.size} answered writes, ${books.replayed} replayed; takeover after kill -9 ${Math.round(takeoverMs)} ms, after a freeze ${Math.round(thawoverMs)} ms; longest gap between answers ${Math.round(longestGapMs(books, killedMs))} ms\n`,
      )
    }),
  )
}

cluster.run()
