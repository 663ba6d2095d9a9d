import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { bareService, issueSims, simsOf } from '../harness/backups.ts'
import { runSvc } from '../harness/service.ts'

const test = suite('e2e/backup-offline', { limitMs: 1_200_000 })
const KEPT = 'restore-20261122T000000Z'

/** A node with four SIMs, that is to have two again: the restore is decided, and nobody has begun it. */
async function decided(dataDir: string): Promise<void> {
  const service = await bareService({ dataDir })
  await issueSims(service, 2)
  await service.stop()
  const coming = join(dataDir, 'restore-pending', 'new')
  mkdirSync(coming, { recursive: true, mode: 0o700 })
  copyFileSync(join(dataDir, 'svc.db'), join(coming, 'store.db'))
  const plan = {
    kept: KEPT,
    store_file: join(dataDir, 'svc.db'),
    keys_dir: join(dataDir, 'keys'),
    plugins_dir: join(dataDir, 'plugins'),
    has_keys: false,
  }
  writeFileSync(join(dataDir, 'restore-pending', 'restore.json'), JSON.stringify(plan))
  // Out of the way while the node goes on.
  renameSync(join(dataDir, 'restore-pending'), join(dataDir, 'aside'))
  const again = await bareService({ dataDir })
  await issueSims(again, 2)
  await again.stop()
  renameSync(join(dataDir, 'aside'), join(dataDir, 'restore-pending'))
}

/** Commands on the files of a node, each of which is the first after the decision. */
const COMMANDS: readonly (readonly string[])[] = [
  ['user', 'add', 'ada', '--role', 'admin', '--offline'],
  ['audit', 'verify'],
  ['vault', 'rotate'],
  ['node', 'init'],
]

test('a command on the files completes a restore that was decided, before it reads anything', async () => {
  await using dir = await tempDir()
  const model = join(dir.path, 'model')
  await decided(model)
  for (const command of COMMANDS) {
    const dataDir = join(dir.path, command.join('-'))
    // With the modes of the keys, which are insisted on.
    execFileSync('cp', ['-a', model, dataDir])
    const plan = join(dataDir, 'restore-pending', 'restore.json')
    execFileSync('sed', ['-i', `s#${model}#${dataDir}#g`, plan])
    const { code, stderr } = await runSvc([...command, '--data-dir', dataDir])
    assert.is(code, 0, `${command.join(' ')}: ${stderr}`)
    assert.match(stderr, `what was before is in ${join(dataDir, KEPT)}`)
    assert.ok(existsSync(join(dataDir, KEPT, 'svc.db')))
    const service = await bareService({ dataDir })
    assert.is(await simsOf(service), 2)
    if (command[0] === 'user') {
      const { body } = await service.request('GET', '/v1/users')
      assert.equal(
        body.users.map((user: { readonly name: string }) => user.name),
        ['ada'],
      )
    }
    await service.stop()
  }
})

test('a command leaves a restore that was decided to the service that runs there, and the doctor changes nothing', async () => {
  await using dir = await tempDir()
  const dataDir = join(dir.path, 'data')
  await decided(dataDir)
  const doctor = await runSvc(['doctor', '--data-dir', dataDir, '--json'])
  const checks = JSON.parse(doctor.stdout).checks as readonly {
    readonly name: string
    readonly detail: string
  }[]
  assert.match(checks.find(({ name }) => name === 'store')?.detail ?? '', /a restore was decided/)
  renameSync(join(dataDir, 'restore-pending'), join(dataDir, 'aside'))
  const service = await bareService({ dataDir })
  renameSync(join(dataDir, 'aside'), join(dataDir, 'restore-pending'))
  const { code, stderr } = await runSvc(['audit', 'verify', '--data-dir', dataDir])
  assert.is(code, 1)
  assert.match(stderr, /restore_under_way: .*try again/s)
  await service.stop()
  assert.equal(
    readdirSync(dataDir).filter((name) => name.startsWith('restore-')),
    ['restore-pending'],
  )
  const again = await bareService({ dataDir })
  assert.is(await simsOf(again), 2)
  await again.stop()
})

test.run()
