import { existsSync, readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { assert, seededDraw, suite, tempDir } from '@steeple/testkit'
import {
  bareService,
  issueSims,
  restoreBackup,
  sendBackup,
  simsOf,
  takeBackup,
  verifyAudit,
} from '../harness/backups.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'
import { addPerson, enter } from '../harness/people.ts'
import { runSvc } from '../harness/service.ts'

const test = suite('e2e/backup', { limitMs: 1_200_000 })

function keptIn(dataDir: string): readonly string[] {
  return readdirSync(dataDir).filter((name) => name.startsWith('restore-'))
}

test('a restored node is what it was, without those who were logged in, and keeps what came after', async () => {
  await using dir = await tempDir()
  const service = await bareService({ dataDir: dir.path })
  await issueSims(service, 7)
  const person = await addPerson(service, 'ada', ['viewer'])
  const { token } = await enter(service, person)
  const file = await takeBackup(service)
  const once = { headers: { 'idempotency-key': 'later' }, body: { count: 3 } }
  assert.is((await service.request('POST', '/v1/sims', once)).status, 201)
  assert.is((await service.request('GET', '/v1/sims', { token })).status, 200)
  const restored = await restoreBackup(service, file)
  assert.is(await simsOf(restored), 7)
  const again = await restored.request('POST', '/v1/sims', once)
  assert.equal([again.status, again.body.error.code], [409, 'idempotency_key_reused'])
  assert.match(again.body.error.message, /before a restore/)
  assert.is((await restored.request('GET', '/v1/sims', { token })).status, 401)
  const { body } = await restored.request('GET', '/v1/audit?action=backup.restore')
  assert.is(body.entries.length, 1)
  assert.is(body.entries[0].outcome, 'ok')
  const [kept = '', ...more] = keptIn(dir.path)
  assert.equal(more, [])
  assert.ok(existsSync(join(dir.path, kept, 'svc.db')))
  assert.ok(existsSync(join(dir.path, kept, 'keys', 'vault.key')))
  await issueSims(restored, 1)
  assert.is(await restored.stop(), 0)
  await verifyAudit(dir.path)
})

test('another machine becomes the old node when it is told to, and not otherwise', async () => {
  await using dir = await tempDir()
  const old = await bareService()
  await issueSims(old, 5)
  const { body: made } = await old.request('POST', '/v1/tokens', {
    body: { name: 'desk', roles: ['viewer'] },
  })
  const { body: identity } = await old.request('GET', '/v1/nodes')
  const [withKeys, without] = [await takeBackup(old), await takeBackup(old, {})]
  await old.stop()
  const next = await bareService({ dataDir: dir.path })
  for (const [file, query] of [
    [withKeys, ''],
    [without, '?adopt=true'],
  ] as const) {
    const { status, body } = await sendBackup(next, file, query)
    assert.is(status, 400)
    assert.is(body.error.code, 'backup_invalid')
  }
  const adopted = await restoreBackup(next, withKeys, '?adopt=true')
  assert.is(await simsOf(adopted), 5)
  assert.is((await adopted.request('GET', '/v1/sims', { token: made.token })).status, 200)
  const { body: now } = await adopted.request('GET', '/v1/nodes')
  assert.equal(
    now.nodes.map((node: { readonly node_id: string }) => node.node_id),
    identity.nodes.map((node: { readonly node_id: string }) => node.node_id),
  )
  assert.is(await adopted.stop(), 0)
  await verifyAudit(dir.path)
})

test('killed at any moment of a restore, a node is what it was or what was restored', async () => {
  await using dir = await tempDir()
  const dataDir = dir.path
  let service = await bareService({ dataDir })
  await issueSims(service, 4)
  const file = await takeBackup(service)
  const draw = seededDraw(20261122)
  for (let round = 0; round < 12; round++) {
    // What was restored the round before has moved on since.
    if ((await simsOf(service)) === 4) await issueSims(service, 2)
    const kept = keptIn(dataDir).length
    const answer = sendBackup(service, file).catch(() => undefined)
    await delay(draw(1_500))
    await service.kill()
    await answer
    service = await bareService({ dataDir })
    const sims = await simsOf(service)
    assert.ok(sims === 4 || sims === 6, `${sims} SIMs`)
    assert.is(keptIn(dataDir).length - kept, sims === 4 ? 1 : 0)
    await verifyAudit(dataDir)
  }
  assert.is(await service.stop(), 0)
  await verifyAudit(dataDir)
})

test('killed amid backups, a node leaves nothing of them', async () => {
  await using dir = await tempDir()
  const draw = seededDraw(1122)
  for (let round = 0; round < 6; round++) {
    const service = await bareService({ dataDir: dir.path })
    await issueSims(service, 1)
    const taken = takeBackup(service).catch(() => undefined)
    await delay(draw(800))
    await service.kill()
    await taken
  }
  const service = await bareService({ dataDir: dir.path })
  assert.is(await simsOf(service), 6)
  assert.equal(
    readdirSync(dir.path).filter((name) => name.startsWith('.backup-')),
    [],
  )
  await service.stop()
})

test('the commands take, try and restore a backup', async () => {
  await using dir = await tempDir()
  const service = await bareService({ dataDir: join(dir.path, 'data') })
  await issueSims(service, 2)
  const words = join(dir.path, 'words')
  await writeFile(words, 'twelve letters and more\n', { mode: 0o600 })
  const file = join(dir.path, 'box.tar.gz.enc')
  const env = { SVC_URL: service.url, SVC_TOKEN: service.adminToken }
  const taken = await runSvc(['backup', file, '--passphrase-file', words, '--json'], env)
  assert.is(taken.code, 0, taken.stderr)
  assert.is(JSON.parse(taken.stdout).encrypted, true)
  await issueSims(service, 3)
  const tried = await runSvc(['restore', file, '--dry-run', '--passphrase-file', words], env)
  assert.is(tried.code, 0, tried.stderr)
  assert.match(tried.stdout, /sims_sim +5 +2/)
  assert.match(tried.stdout, /nothing was changed/)
  await writeFile(words, 'another passphrase\n')
  const refused = await runSvc(['restore', file, '--passphrase-file', words], env)
  assert.is(refused.code, 1)
  assert.match(refused.stderr, /passphrase is another one/)
  await writeFile(words, 'twelve letters and more\n')
  const done = await runSvc(['restore', file, '--passphrase-file', words], env)
  assert.is(done.code, 0, done.stderr)
  await service.stop()
})

if (PG_URL === '') process.stdout.write('needs SVC_TEST_PG_URL\n')
else {
  test('a store on PostgreSQL comes back, from a file too', async () => {
    await using dir = await tempDir()
    const schema = await ownSchema()
    const env = { SVC_STORE_URL: schema.url }
    const service = await bareService({ dataDir: dir.path, env })
    await issueSims(service, 6)
    const file = await takeBackup(service)
    await issueSims(service, 1)
    const restored = await restoreBackup(service, file)
    assert.is(await simsOf(restored), 6)
    await issueSims(restored, 1)
    assert.is(await restored.stop(), 0)
    await verifyAudit(dir.path, env)

    const other = await bareService()
    const onFile = await restoreBackup(other, file, '?adopt=true')
    assert.is(await simsOf(onFile), 6)
    await onFile.stop()
    await schema.drop()
  })
}

test.run()
