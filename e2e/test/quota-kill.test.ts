import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, rounds, suite } from '@steeple/testkit'
import { installStandInNetwork, STAND_IN_ENV } from '../harness/plugins/stand-in-network.ts'
import { type Service, startService } from '../harness/service.ts'

const quotaKill = suite('e2e/quota-kill', { limitMs: 900_000 })
const ROUNDS = rounds(12)
const SIMS = 200
const ALLOWANCE = 1_000
/** Used by one SIM in one round, at most. */
const MOST = 400
const ADMIN = 'quota-kill-admin-token-0123456789abcdef'
const LONGEST_RUN_MS = 1_500
const PATIENCE_MS = 120_000

interface Book {
  readonly hashes: readonly string[]
  readonly used: Map<string, number>
}

quotaKill(`counts each octet once and cuts off who is over, in ${ROUNDS} rounds of kill -9`, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'steeple-quota-kill-'))
  const usageFile = join(dataDir, 'usage.txt')
  installStandInNetwork(dataDir, usageFile)
  const env = { ...STAND_IN_ENV, SVC_FAIRUSE_ENABLED: 'true', SVC_SIMS_DRIFT_INTERVAL: '2s' }
  const start = (): Promise<Service> => startService({ dataDir, adminToken: ADMIN, env })
  try {
    let service = await start()
    // What has never run and was killed while it was loaded is not tried again.
    await eventually(async () =>
      assert.equal(await standInStates(service), ['running', 'running', 'running']),
    )
    const issued = await service.request('POST', '/v1/sims', {
      body: { count: SIMS, quota_bytes: ALLOWANCE },
    })
    assert.is(issued.status, 201, JSON.stringify(issued.body))
    const sims: readonly { readonly imsi_sha256_12: string }[] = issued.body.sims
    const book: Book = { hashes: sims.map((sim) => sim.imsi_sha256_12), used: new Map() }
    for (let round = 0; round < ROUNDS; round++) {
      use(book, usageFile)
      await new Promise((done) => setTimeout(done, Math.random() * LONGEST_RUN_MS))
      await service.kill()
      service = await start()
    }
    await settled(service, book)
    await judge(service, book)
    await service.stop()
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})

async function standInStates(service: Service): Promise<readonly string[]> {
  const { body } = await service.request('GET', '/v1/plugins?limit=500')
  const plugins: readonly { readonly name: string; readonly state: string }[] = body.plugins
  return plugins.filter(({ name }) => /^(stand-in-|usage-file$)/.test(name)).map(({ state }) => state)
}

/** Some octets for about half of them. */
function use({ hashes, used }: Book, usageFile: string): void {
  const lines = hashes
    .filter(() => Math.random() < 0.5)
    .map((hash) => {
      const octets = 1 + Math.floor(Math.random() * MOST)
      used.set(hash, (used.get(hash) ?? 0) + octets)
      return `${hash} ${octets}\n`
    })
  // Whole at once: a torn line is another test's subject.
  appendFileSync(usageFile, lines.join(''))
}

function isOver({ used }: Book, hash: string): boolean {
  return (used.get(hash) ?? 0) >= ALLOWANCE
}

async function settled(service: Service, book: Book): Promise<void> {
  const over = book.hashes.filter((hash) => isOver(book, hash)).length
  assert.ok(over > 0 && over < SIMS, `${over} of ${SIMS} are over: the test needs both`)
  const metric = async (pattern: RegExp): Promise<number> =>
    Number(pattern.exec(String((await service.request('GET', '/metrics')).body))?.[1])
  await eventually(async () => {
    assert.is(await metric(/^svc_sim_state\{state="suspended"\} (\S+)$/m), over)
    assert.is(await metric(/^svc_sims_phones_attached (\S+)$/m), SIMS - over)
  }, PATIENCE_MS)
}

async function judge(service: Service, book: Book): Promise<void> {
  for (const hash of book.hashes) {
    const used = book.used.get(hash) ?? 0
    // Who is cut off is known before all of those are counted who are not.
    await eventually(async () => {
      const { body } = await service.request('GET', `/v1/sims/${hash}/usage`)
      assert.equal([body.total_bytes, body.by_source['usage-file']?.down_bytes ?? 0], [used, used], hash)
      assert.is(body.over_quota, isOver(book, hash))
      assert.is(body.enforcement, isOver(book, hash) ? 'suspended' : 'none')
    })
  }
  const told = (await service.request('GET', '/v1/audit?action=sim.suspend&limit=500')).body.entries
  const suspended = told.map(({ target }: { readonly target: string }) => target)
  assert.is(new Set(suspended).size, suspended.length, 'nobody is suspended twice')
}

quotaKill.run()
