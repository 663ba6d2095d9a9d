import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnMounts, eventually, hasBlockMounts, suite } from '@steeple/testkit'
import { type Answer, runSvc, type Service, startedProcesses } from '../harness/service.ts'
import { blockDisk, memoryDisk, type SmallDisk } from '../harness/small-disk.ts'

enterOwnMounts(import.meta.filename)

const ADMIN = 'disk-test-admin-token-0123456789abcdef'
const DISK_MIB = 16
const LISTENING = /"url":"(http:[^"]+)"/
const WRITES = 150
/** Beside one line for each request that failed: a few of the store, its health, and plugins. */
const OTHER_LINES = 40

const disk = suite('e2e/disk-full')
const started = startedProcesses()
disk.after.each(started.endAll)

disk('answers 503 while the disk is full, reads on, and recovers by itself', () => onMemory(fullAndFree), {
  limitMs: 360_000,
})

async function fullAndFree(small: SmallDisk): Promise<void> {
  const service = await started.start({ dataDir: small.path, adminToken: ADMIN })
  const before = await mint(service, 'before')
  assert.is(before.status, 201)
  const policy = await service.request('GET', '/v1/policy')
  const linesBefore = lines(service).length
  small.fill()
  const answers = await Promise.all(Array.from({ length: WRITES }, (_, i) => mint(service, `full-${i}`)))
  const kept = answers.filter(({ status }) => status === 201).length
  for (const { status, body } of answers.filter((one) => one.status !== 201)) {
    assert.is(status, 503, JSON.stringify(body))
    assert.is(body.error.code, 'store_unavailable')
    assert.match(body.error.message, /disk is full; free some space/)
  }
  assert.is((await mint(service, 'still-full')).status, 503, 'the last write was taken: the disk is not full')
  const put = await service.request('PUT', '/v1/policy', { body: { sim_swap_cooldown_hours: 7 } })
  assert.is(put.status, 503, JSON.stringify(put.body))
  await readsGoOn(service, policy)
  await eventually(async () => (await storeHealth(service)).status !== 'ok')
  assert.match((await storeHealth(service)).detail, /disk is full/)
  await eventually(async () => (await incidents(service)).join() === 'disk_full')
  const requests = WRITES + 10
  const grown = lines(service).length - linesBefore
  assert.ok(grown <= requests + OTHER_LINES, `${grown} log lines`)

  small.free()
  await eventually(async () => (await storeHealth(service)).status === 'ok')
  // The disk is small: it may be almost full for good.
  await eventually(async () => (await incidents(service)).every((kind) => kind === 'disk_low'))
  const { body: past } = await service.request('GET', '/v1/incidents')
  assert.equal(kindsOf(past.incidents), ['disk_full'])
  const names = await tokenNames(service)
  assert.equal(names.length, new Set(names).size)
  assert.is(names.length, 1 + kept, 'a write that answered 503 was kept, or one that answered 201 was not')
  const repeated = await Promise.all(Array.from({ length: WRITES }, (_, i) => mint(service, `full-${i}`)))
  for (const [i, answer] of repeated.entries()) {
    assert.is(answer.status, 201, JSON.stringify(answer.body))
    const wasKept = answers[i]?.status === 201
    assert.is(answer.headers.get('idempotency-replayed'), wasKept ? 'true' : null)
    if (wasKept) assert.is(answer.body.id, answers[i]?.body.id)
  }
  assert.is((await tokenNames(service)).length, 1 + WRITES)
  assert.is((await service.request('GET', '/v1/policy')).body.revision, policy.body.revision)
  assert.match(service.output(), /"the store takes writes again"/)
  assert.is(await service.stop(), 0)
  await assertAudit(small.path)
  process.stdout.write(
    `# full disk: ${WRITES - kept} of ${WRITES} writes answered 503, ${kept} were kept, ${grown} log lines\n`,
  )
}

disk('starts on a full disk or says in one line why not, and starts once there is room', async () => {
  await onMemory(async (small) => {
    const first = await started.start({ dataDir: small.path, adminToken: ADMIN })
    assert.is((await mint(first, 'before')).status, 201)
    assert.is(await first.stop(), 0)
    small.fill()
    const args = ['--first-start', '--data-dir', small.path, '--listen', '127.0.0.1:0']
    const refused = await runSvc(args, { SVC_ADMIN_TOKEN: ADMIN })
    assert.is(refused.code, 1, refused.stdout)
    assertOneLine(refused.stderr, /full/)
    small.free()
    const second = await started.start({ dataDir: small.path, adminToken: ADMIN })
    assert.equal(await tokenNames(second), ['before'])
    assert.is(await second.stop(), 0)
  })
})

disk('goes on when the disk of its log is full, and logs on once there is room', async () => {
  await onMemory(async (small) => {
    const logPath = join(small.path, 'service.log')
    const log = openSync(logPath, 'a')
    const dataDir = mkdtempSync(join(tmpdir(), 'steeple-logged-'))
    const run = started.launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
      stdout: log,
    })
    closeSync(log)
    const logged = (): string => readFileSync(logPath, 'utf8')
    await eventually(async () => LISTENING.test(logged()))
    const url = LISTENING.exec(logged())?.[1] ?? ''
    small.fill()
    for (let i = 0; i < 200; i++) assert.is((await fetch(`${url}/v1/version`)).status, 200)
    small.free()
    await eventually(async () => {
      await fetch(`${url}/v1/version`, { headers: { 'x-request-id': 'logged-again' } })
      return logged().includes('logged-again')
    })
    run.child.kill('SIGTERM')
    assert.is(await run.exited, 0)
    assert.match(logged(), /"stopped"\}\n$/)
    rmSync(dataDir, { recursive: true })
  })
})

disk('refuses to start on a read-only disk in one line', async () => {
  await onMemory(async (small) => {
    const first = await started.start({ dataDir: small.path, adminToken: ADMIN })
    assert.is((await mint(first, 'before')).status, 201)
    assert.is(await first.stop(), 0)
    small.remount('ro')
    const args = ['--first-start', '--data-dir', small.path, '--listen', '127.0.0.1:0']
    const refused = await runSvc(args, { SVC_ADMIN_TOKEN: ADMIN })
    assert.is(refused.code, 1, refused.stdout)
    assertOneLine(refused.stderr, /read-only|cannot be written/)
    small.remount('rw')
    const second = await started.start({ dataDir: small.path, adminToken: ADMIN })
    assert.equal(await tokenNames(second), ['before'])
    assert.is(await second.stop(), 0)
  })
})

disk('reads on when the disk turns read-only under it, and has lost nothing afterwards', async () => {
  const small = hasBlockMounts() ? blockDisk(32) : undefined
  if (small === undefined) {
    process.stdout.write('# no loop device here: a disk that turns read-only while in use was not tried\n')
    assert.ok(process.getuid?.() !== undefined)
    return
  }
  try {
    const service = await started.start({ dataDir: small.path, adminToken: ADMIN })
    assert.is((await mint(service, 'before')).status, 201)
    const policy = await service.request('GET', '/v1/policy')
    small.remount('abort')
    const answer = await mint(service, 'after')
    assert.is(answer.status, 503, JSON.stringify(answer.body))
    assert.is(answer.body.error.code, 'store_unavailable')
    await readsGoOn(service, policy)
    assert.equal(await tokenNames(service), ['before'])
    await eventually(async () => (await storeHealth(service)).status !== 'ok')
    assert.is(await service.stop(), 0)
    small.replug()
    const again = await started.start({ dataDir: small.path, adminToken: ADMIN })
    assert.equal(await tokenNames(again), ['before'])
    assert.is((await mint(again, 'after')).headers.get('idempotency-replayed'), null)
    assert.is(await again.stop(), 0)
    await assertAudit(small.path)
  } finally {
    small.remove()
  }
})

async function onMemory(work: (small: SmallDisk) => Promise<void>): Promise<void> {
  const small = memoryDisk(DISK_MIB)
  try {
    await work(small)
  } finally {
    small.remove()
  }
}

function mint(service: Service, name: string): Promise<Answer> {
  return service.request('POST', '/v1/tokens', {
    body: { name, roles: ['viewer'] },
    headers: { 'idempotency-key': `key-${name}` },
  })
}

async function tokenNames(service: Service): Promise<readonly string[]> {
  const { status, body } = await service.request('GET', '/v1/tokens?limit=500')
  assert.is(status, 200, JSON.stringify(body))
  return body.tokens.map(({ name }: { name: string }) => name)
}

async function readsGoOn(service: Service, policy: Answer): Promise<void> {
  assert.is((await service.request('GET', '/v1/healthz', { token: undefined })).status, 200)
  assert.is((await service.request('GET', '/v1/tokens')).status, 200)
  assert.is((await service.request('GET', '/v1/audit')).status, 200)
  assert.is((await service.request('GET', '/v1/nodes')).status, 200)
  assert.equal((await service.request('GET', '/v1/policy')).body, policy.body)
}

async function storeHealth(service: Service): Promise<{ readonly status: string; readonly detail: string }> {
  const { body } = await service.request('GET', '/v1/health')
  return body.components.find(({ name }: { name: string }) => name === 'store')
}

/** The kinds of what is wrong now. */
async function incidents(service: Service): Promise<readonly (string | undefined)[]> {
  return kindsOf((await service.request('GET', '/v1/health')).body.incidents)
}

/** Without the core that a new box does not have. */
function kindsOf(all: readonly Readonly<Record<string, string>>[]): readonly (string | undefined)[] {
  return all.filter(({ component }) => component !== 'driver-hss.hss').map(({ kind }) => kind)
}

async function assertAudit(dataDir: string): Promise<void> {
  const verdict = await runSvc(['audit', 'verify', '--data-dir', dataDir])
  assert.is(verdict.code, 0, verdict.stdout + verdict.stderr)
}

function assertOneLine(text: string, pattern: RegExp): void {
  assert.match(text, pattern)
  assert.is(text.trimEnd().split('\n').length, 1, text)
}

/** Every line but the one that each request has anyway. */
function lines(service: Service): readonly string[] {
  const all = service.output().trimEnd().split('\n')
  return all.filter((line) => !line.endsWith('"msg":"request"}'))
}

disk.run()
