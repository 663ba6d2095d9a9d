import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { runSvc, type Service, type Started, startedProcesses } from '../harness/service.ts'
import { shiftedClock } from '../harness/shifted-clock.ts'

const box = suite('e2e/store-and-clock')

/** `npm start` without a configuration knows no HSS. */
const AS_NPM_START = { SVC_HSS_DRIVER: 'none' }
const PATIENCE_MS = 180_000
const DAY = 86_400_000

/** A data directory, and processes that end with the test. */
async function inDirectory(
  work: (dataDir: string, processes: Started, dir: string) => Promise<void>,
): Promise<void> {
  await using dir = await tempDir()
  const processes = startedProcesses()
  try {
    await work(join(dir.path, 'data'), processes, dir.path)
  } finally {
    processes.endAll()
  }
}

async function issue(service: Service, count: number): Promise<readonly string[]> {
  const { status, body } = await service.request('POST', '/v1/sims', { body: { count } })
  assert.is(status, 201, JSON.stringify(body))
  return (body.sims as readonly { imsi_sha256_12: string }[]).map((sim) => sim.imsi_sha256_12)
}

async function stateOf(service: Service, hash: string): Promise<string> {
  return (await service.request('GET', `/v1/sims/${hash}`)).body.state
}

/** How a start that is refused ends, and what it says. */
async function refusedStart(processes: Started, dataDir: string): Promise<string> {
  const run = processes.launch(['--data-dir', dataDir, '--listen', '127.0.0.1:0'], { env: AS_NPM_START })
  assert.is(await run.exited, 1)
  assert.not.match(run.stderr(), /\n +at /, 'no stack')
  return run.stderr()
}

box(
  'lets no SIM expire by a clock 800 days ahead, says so, and gives back what a confirmed mistake expired',
  async () => {
    await inDirectory(async (dataDir, processes, dir) => {
      const clock = shiftedClock(dir)
      const options = { dataDir, env: AS_NPM_START, nodeFlags: clock.nodeFlags }
      let service = await processes.start(options)
      const [sim = ''] = await issue(service, 1)
      const look = async (): Promise<string> => (await service.request('GET', '/v1/clock')).body.status
      clock.shift(800 * DAY)
      await eventually(async () => (await look()) === 'in_doubt', PATIENCE_MS)
      const health = async () => (await service.request('GET', '/v1/health')).body
      const component = async (): Promise<{ status: string; detail: string } | undefined> =>
        (await health()).components.find(({ name }: { name: string }) => name === 'clock')
      await eventually(async () => (await component())?.status === 'degraded', PATIENCE_MS)
      assert.match((await component())?.detail ?? '', /800 days ahead.*svc clock confirm/)
      const actions = async (): Promise<readonly string[]> => {
        const { body } = await service.request('GET', '/v1/audit?limit=50')
        return (body.entries as readonly { action: string }[]).map(({ action }) => action)
      }
      await eventually(async () => (await actions()).includes('clock.doubt'), PATIENCE_MS)
      await service.stop()

      service = await processes.start(options)
      assert.is(await look(), 'in_doubt', 'at a start, too')
      await eventually(async () => (await component())?.status === 'degraded', PATIENCE_MS)
      assert.is(await stateOf(service, sim), 'issued')
      const confirm = () =>
        runSvc(['clock', 'confirm'], { SVC_URL: service.url, SVC_TOKEN: service.adminToken })
      assert.is((await confirm()).code, 0)
      await eventually(async () => (await stateOf(service, sim)) === 'expired', PATIENCE_MS)

      clock.shift(0)
      await eventually(async () => (await look()) === 'in_doubt', PATIENCE_MS)
      assert.is(await stateOf(service, sim), 'expired')
      assert.is((await confirm()).code, 0)
      await eventually(async () => (await stateOf(service, sim)) === 'issued', PATIENCE_MS)
      const kept = await actions()
      // By the time that was confirmed the entries of before, the first doubt among them, are too old to be kept.
      for (const action of ['clock.confirm', 'sim.expire', 'sim.unexpire'])
        assert.ok(kept.includes(action), action)
      assert.is(await service.stop(), 0)
    })
  },
)

box('answers no change once its store was removed, and makes no other one at the next start', async () => {
  await inDirectory(async (dataDir, processes) => {
    const service = await processes.start({ dataDir, env: AS_NPM_START })
    await issue(service, 5)
    for (const end of ['', '-wal', '-shm']) rmSync(join(dataDir, `svc.db${end}`))
    const { status, body } = await service.request('POST', '/v1/sims', { body: {} })
    assert.is(status, 503, JSON.stringify(body))
    assert.match(body.error.message, /svc\.db was removed while the service runs/)
    assert.is((await service.request('GET', '/v1/healthz')).status, 503)
    await service.kill()
    assert.match(
      await refusedStart(processes, dataDir),
      /^store_invalid: the store cannot be used: there is no store .*svc store new/,
    )
    assert.not.ok(existsSync(join(dataDir, 'svc.db')))
    const doctor = await runSvc(['doctor', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], AS_NPM_START)
    assert.match(doctor.stdout, /there is no store .* but this node has kept one since/)
    assert.is((await runSvc(['store', 'new', '--data-dir', dataDir])).code, 0)
    const fresh = await processes.start({ dataDir, env: AS_NPM_START })
    assert.equal((await fresh.request('GET', '/v1/sims')).body.sims, [])
    assert.is(await fresh.stop(), 0)
  })
})

box('keeps every answered SIM when its write-ahead log is removed and it is killed', async () => {
  await inDirectory(async (dataDir, processes) => {
    const service = await processes.start({ dataDir, env: AS_NPM_START })
    const answered = await issue(service, 40)
    rmSync(join(dataDir, 'svc.db-wal'))
    // Amid a transaction of the service's own it is saved by the next look. When the check of the store has opened it since, there is
    // a new log.
    await eventually(async () => {
      const { status, body } = await service.request('POST', '/v1/sims', { body: {} })
      assert.is(status, 503, JSON.stringify(body))
      const saved =
        /svc\.db-wal was (removed|replaced by another file) .* all that was answered is in .*svc\.db now/
      assert.match(body.error.message, saved)
    })
    assert.is((await service.request('GET', '/v1/healthz')).status, 503)
    await service.kill()
    const again = await processes.start({ dataDir, env: AS_NPM_START, adminToken: service.adminToken })
    for (const hash of answered) assert.is(await stateOf(again, hash), 'issued')
    assert.is(await again.stop(), 0)
  })
})

box(
  'goes on after a kill and a look into its store, refuses a store that lost an answered change, and goes on once that is accepted',
  async () => {
    await inDirectory(async (dataDir, processes) => {
      const first = await processes.start({ dataDir, env: AS_NPM_START })
      const { adminToken } = first
      const [known = ''] = await issue(first, 1)
      await first.kill()
      const file = join(dataDir, 'svc.db')
      const look = new DatabaseSync(file)
      assert.is(look.prepare('select count(*) as n from sims_sim').get()?.n, 1)
      look.close()
      assert.not.ok(existsSync(`${file}-wal`), 'whoever looks last takes the log into the database')
      const second = await processes.start({ dataDir, env: AS_NPM_START, adminToken })
      assert.is(await stateOf(second, known), 'issued')
      await issue(second, 1)
      await second.kill()

      const log = readFileSync(`${file}-wal`)
      const last = lastFrame(log) + 100
      log[last] = (log[last] ?? 0) ^ 1
      writeFileSync(`${file}-wal`, log)
      const said =
        /store_invalid: .*svc\.db lacks the last \d+ answered commit.*svc store accept --data-dir \S+data/
      assert.match(await refusedStart(processes, dataDir), said)
      const doctor = await runSvc(['doctor', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], AS_NPM_START)
      assert.match(doctor.stdout, /lacks the last \d+ answered commit/)
      assert.equal(readFileSync(`${file}-wal`), log, 'what is left is as it was')

      const accepted = await runSvc(['store', 'accept', '--data-dir', dataDir])
      assert.is(accepted.code, 0, accepted.stderr)
      const note = join(dataDir, 'tx-disarm.json')
      // A disarm may be among what is lost.
      assert.equal(JSON.parse(readFileSync(note, 'utf8')), { intervalId: null, by: 'system:svc store' })
      const third = await processes.start({ dataDir, env: AS_NPM_START, adminToken })
      assert.is(await stateOf(third, known), 'issued')
      const { body } = await third.request('GET', '/v1/audit?limit=50&action=store.accept')
      assert.match(body.entries[0]?.detail?.lost ?? '', /lacks the last \d+ answered commit/)
      await eventually(() => assert.is(readFileSync(note, 'utf8').trim(), ''))
      const early = await runSvc(['store', 'accept', '--data-dir', dataDir])
      assert.match(early.stderr, /data_dir_in_use/)
      assert.is(await third.stop(), 0)
      assert.is((await runSvc(['store', 'accept', '--data-dir', dataDir])).code, 1, 'nothing is lost now')
      assert.is(readFileSync(note, 'utf8').trim(), '', 'what is refused disarms nothing')
      const kept = readdirSync(dataDir).filter((name) => name.startsWith('svc.db-wal-'))
      assert.is(kept.length, 1)
    })
  },
)

/** Where the last frame of the newest generation of a write-ahead log begins. */
function lastFrame(log: Buffer): number {
  const frame = log.readUInt32BE(8) + 24
  let last = 32
  for (let at = 32; at + frame <= log.length; at += frame)
    if (log.compare(log, 16, 24, at + 8, at + 16) === 0) last = at
  return last
}

box('does not start with another vault key, and neither does a command', async () => {
  await inDirectory(async (dataDir, processes) => {
    const service = await processes.start({ dataDir, env: AS_NPM_START })
    await issue(service, 1)
    await service.stop()
    const file = join(dataDir, 'keys', 'vault.key')
    const right = readFileSync(file)
    writeFileSync(file, randomBytes(32))
    const said = /secrets_invalid: .*vault\.key \(key [0-9a-f]{8}\) is not the key of this store/
    assert.match(await refusedStart(processes, dataDir), said)
    const rotation = await runSvc(['vault', 'rotate', '--data-dir', dataDir])
    assert.is(rotation.code, 1)
    assert.match(rotation.stderr, said)
    const doctor = await runSvc(['doctor', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], AS_NPM_START)
    assert.is(doctor.code, 1)
    assert.match(doctor.stdout, /is not the key of this store/)
    writeFileSync(file, right)
    const again = await processes.start({ dataDir, env: AS_NPM_START })
    assert.is(await again.stop(), 0)
  })
})

box.run()
