import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { fakeService } from './fake-service.ts'
import { svc } from './svc.ts'

const offline = suite('cli/offline')

/** Every file of a node's keys and what it holds. */
async function keysIn(dataDir: string): Promise<ReadonlyMap<string, string>> {
  const directory = join(dataDir, 'keys')
  const names = (await readdir(directory)).toSorted()
  return new Map(
    await Promise.all(
      names.map(async (name) => [name, await readFile(join(directory, name), 'latin1')] as const),
    ),
  )
}

offline('makes a node once, says how to make the first credential and never shows a key', async () => {
  await using folder = await tempDir()
  const args = ['node', 'init', '--data-dir', folder.path]
  const first = await svc([...args, '--name', 'mast 7'])
  assert.is(first.code, 0)
  assert.match(first.out, /\(mast 7\) made/)
  assert.match(first.out, /export SVC_ADMIN_TOKEN=/)
  const keys = await keysIn(folder.path)
  assert.is((await stat(join(folder.path, 'keys'))).mode & 0o777, 0o700)
  const second = await svc([...args, '--json'])
  assert.is(second.code, 0)
  assert.is((JSON.parse(second.out) as { readonly created: boolean }).created, false)
  assert.equal([...(await keysIn(folder.path))], [...keys])
  for (const [name, content] of keys) {
    if (!name.endsWith('.key')) continue
    for (const shown of [first.out, first.err, second.out, second.err]) {
      assert.not.ok(shown.includes(content.trim()), name)
      assert.not.ok(shown.includes(Buffer.from(content, 'latin1').toString('hex')), name)
    }
  }
  assert.not.match(first.out + second.out, /PRIVATE KEY/)
})

offline('makes the keys that TLS needs where TLS is already asked for', async () => {
  await using folder = await tempDir()
  const { code, err } = await svc(['node', 'init', '--data-dir', folder.path], {
    env: { SVC_TLS_ENABLED: 'true' },
  })
  assert.is(code, 0, err)
})

offline(
  'leaves a disarm in the note of a service that does not answer, and makes no note where there is none',
  async () => {
    await using folder = await tempDir()
    const note = join(folder.path, 'tx-disarm.json')
    const args = ['tx', 'disarm', '--data-dir', folder.path, '--url', 'http://127.0.0.1:1', '--token', 't']
    const without = await svc(args)
    assert.is.not(without.code, 0)
    assert.not.match(without.err, /the disarm stands in/)
    assert.not.ok((await readdir(folder.path)).includes('tx-disarm.json'))
    await writeFile(note, ' '.repeat(2_048), { mode: 0o600 })
    const { code, err } = await svc(args)
    assert.is.not(code, 0)
    assert.match(err, /the disarm stands in .*tx-disarm\.json/)
    const text = await readFile(note, 'utf8')
    assert.is(text.length, 2_048)
    assert.match(JSON.parse(text).by, /^local:\S+$/)
  },
)

offline('refuses a keys directory that others can read', async () => {
  await using folder = await tempDir()
  const args = ['node', 'init', '--data-dir', folder.path]
  await svc(args)
  await chmod(join(folder.path, 'keys'), 0o755)
  const { code, err } = await svc(args)
  assert.is(code, 1)
  assert.match(err, /^secrets_invalid: /)
})

offline('checks a configuration file and names every problem', async () => {
  await using folder = await tempDir()
  const file = join(folder.path, 'control.yaml')
  await writeFile(file, 'tac: 7\nserver:\n  mode: lab\n')
  assert.equal((await svc(['config', 'check', file])).out, 'ok\n')
  assert.equal((await svc(['config', 'check', '--config', file])).out, 'ok\n')
  await writeFile(file, '# of a laboratory\nplmn: {mcc: "262", mnc: "98"} # in flow style\n')
  const sound = await svc(['config', 'check', file, '--json'], { env: { SVC_TAC: '12' } })
  const network = { plmn: { mcc: '262', mnc: '98' }, tac: 12 }
  assert.equal(JSON.parse(sound.out), { valid: true, lines: ['ok'], network })
  await writeFile(file, 'tac: -1\nserver:\n  mod: lab\n')
  const { code, err } = await svc(['config', 'check', 'control.yaml'], { cwd: folder.path })
  assert.is(code, 1)
  assert.match(err, /control\.yaml:1:6: tac/)
  assert.match(err, /control\.yaml:3:3: server\.mod/)
  const asJson = await svc(['config', 'check', file, '--json'])
  const report = JSON.parse(asJson.out) as { readonly valid: boolean; readonly lines: readonly string[] }
  assert.equal([asJson.code, report.valid, report.lines.length], [1, false, 2])
})

offline('examines a machine: fails without keys, passes with them, says what to do', async () => {
  await using folder = await tempDir()
  const args = ['doctor', '--data-dir', folder.path, '--listen', '127.0.0.1:0']
  // What a mesh asks of the machine depends on who runs this.
  const env = { SVC_HSS_DRIVER: 'none', SVC_PEERING_DISABLED: 'true' }
  const before = await svc(args, { env })
  assert.is(before.code, 1)
  assert.match(before.out, /^fail {2}keys /m)
  assert.match(before.out, /--data-dir.*svc node init/)
  await svc(['node', 'init', '--data-dir', folder.path])
  const after = await svc([...args, '--json'], { env })
  const { ok, checks } = JSON.parse(after.out) as {
    readonly ok: boolean
    readonly checks: readonly { readonly name: string; readonly status: string; readonly detail: string }[]
  }
  assert.equal([after.code, ok], [0, true])
  assert.equal(
    checks.map(({ name }) => name),
    ['config', 'clock', 'keys', 'certificate', 'transport', 'store', 'disk', 'plugins', 'listen'],
  )
  const broken = { SVC_TAC: 'seven', SVC_COLLECTOR_ENABLED: 'true' }
  const misconfigured = await svc(args, { env: broken })
  assert.is(misconfigured.code, 1)
  assert.match(misconfigured.out, /^fail {2}config .*SVC_TAC/m)
})

offline('takes a service that is unwell for what it is, and anything else for another program', async () => {
  await using folder = await tempDir()
  await svc(['node', 'init', '--data-dir', folder.path])
  for (const [code, words] of [
    ['store_unavailable', /^ok {4}listen +svc, unwell, answers on/m],
    ['teapot', /^fail {2}listen +127\.0\.0\.1:\d+: EADDRINUSE\n +another program has it/m],
  ] as const) {
    await using service = await fakeService(() => ({
      status: 503,
      body: { error: { code, message: 'words' } },
    }))
    const args = ['doctor', '--data-dir', folder.path, '--listen', new URL(service.url).host]
    assert.match((await svc(args, { env: { SVC_HSS_DRIVER: 'none' } })).out, words)
  }
})

offline('finds a southbound neighbour that is not there', async () => {
  await using folder = await tempDir()
  await svc(['node', 'init', '--data-dir', folder.path])
  const env = {
    SVC_HSS_DRIVER: 'none',
    SVC_COLLECTOR_ENABLED: 'true',
    SVC_COLLECTOR_MME_URL: 'http://127.0.0.1:1',
  }
  const { code, out } = await svc(['doctor', '--data-dir', folder.path, '--listen', '127.0.0.1:0'], { env })
  assert.is(code, 1)
  assert.match(out, /^fail {2}mme +127\.0\.0\.1:1: ECONNREFUSED\n +.*collector\.mme_url/m)
  // What the core's driver is told wins over what the collector is.
  const ofDriver = { ...env, SVC_CORE_A_MME_URL: 'http://127.0.0.1:2' }
  const told = await svc(['doctor', '--data-dir', folder.path, '--listen', '127.0.0.1:0'], {
    env: ofDriver,
  })
  assert.is(told.code, 1)
  assert.match(told.out, /^fail {2}mme +127\.0\.0\.1:2: ECONNREFUSED\n +.*core_a\.mme_url/m)
  assert.not.match(told.out, /127\.0\.0\.1:1:/)
})

offline('finds the container, the tool and the radio program that are not there', async () => {
  await using folder = await tempDir()
  await svc(['node', 'init', '--data-dir', folder.path])
  const args = ['doctor', '--data-dir', folder.path, '--listen', '127.0.0.1:0']
  const socket = `${folder.path}/engine.sock`
  const shell = await svc(args, { env: { SVC_HSS_ENGINE_SOCKET: socket, SVC_RAN_BINARY: '/no/srsenb' } })
  assert.is(shell.code, 1)
  assert.match(shell.out, /^fail {2}hss +.*container mongo: .*socket is missing.*\n +.*hss\.container/m)
  assert.match(shell.out, /^fail {2}radio +\/no\/srsenb is not an executable file\n +.*ran\.binary/m)
  const tool = await svc(args, { env: { SVC_HSS_DRIVER: 'dbctl', SVC_HSS_DBCTL_PATH: 'no-such-dbctl' } })
  assert.match(tool.out, /^fail {2}hss +no-such-dbctl is not an executable file\n +.*hss\.dbctl_path/m)
  const found = await svc(args, { env: { SVC_HSS_DRIVER: 'dbctl', SVC_HSS_DBCTL_PATH: 'sh' } })
  assert.match(found.out, /^ok {4}hss +\/.*sh can be executed$/m)
})

offline('does not make a store by looking for one', async () => {
  await using folder = await tempDir()
  await svc(['node', 'init', '--data-dir', folder.path])
  const before = await readdir(folder.path)
  for (const words of [
    ['audit', 'verify'],
    ['vault', 'rotate'],
  ]) {
    const { code, err } = await svc([...words, '--data-dir', folder.path])
    assert.is(code, 1)
    assert.match(err, /^store_invalid: .*there is no store/)
  }
  assert.equal(await readdir(folder.path), before)
})

offline('takes options before a command as its own', async () => {
  await using folder = await tempDir()
  const { code, err } = await svc(['--data-dir', folder.path, 'node', 'init'])
  assert.is(code, 0, err)
  assert.ok((await readdir(folder.path)).includes('keys'))
  await using other = await tempDir()
  const refused = await svc(['--listen', ':1', 'node', '--data-dir', other.path, 'init'])
  assert.is(refused.code, 2)
  assert.match(refused.err, /unknown option '--listen'/)
  assert.equal(await readdir(other.path), [])
})

offline.run()
