import { assert, suite, tempDir } from '@steeple/testkit'
import { bareService, restoreBackup, takeBackup } from '../harness/backups.ts'
import { download, ESIM_ENV, expect, newEuicc, prepareEsim } from '../harness/esim.ts'
import { runSvc, type Service } from '../harness/service.ts'

const once = suite('e2e/backup-once')
const LONG = { limitMs: 120_000 }

interface Issued {
  readonly token: string
  readonly activation_code: string
  readonly imsi_sha256_12: string
}

async function given<T>(service: Service, path: string, body: object, status = 201): Promise<T> {
  return expect(await service.request('POST', path, { body }), status) as T
}
const codeOf = async (service: Service, { token }: Issued): Promise<{ state: string; closed: boolean }> =>
  expect(await service.request('GET', `/v1/esim/codes/${token}`), 200)
const outcome = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'delivered',
    (error: unknown) => String(error),
  )
const accept = async (service: Service, token: string): Promise<number> => {
  const body = { token, password: 'correct horse battery staple' }
  return (await service.request('POST', '/v1/auth/invitation', { body, token: undefined })).status
}

once(
  'what was used after a backup is used once, on the node itself and on the one that becomes it',
  async () => {
    await using dir = await tempDir()
    await using other = await tempDir()
    await using running = new AsyncDisposableStack()
    const service = await bareService({ dataDir: dir.path, env: ESIM_ENV })
    running.defer(() => service.kill())
    const eums = await prepareEsim(service)
    const [used, open] = [
      await given<Issued>(service, '/v1/esim/issue', {}),
      await given<Issued>(service, '/v1/esim/issue', {}),
    ]
    const invite = { name: 'ada', roles: ['viewer'] }
    const ada = await given<{ token: string }>(service, '/v1/users/invitations', invite)
    const eve = await given<{ token: string }>(service, '/v1/users/invitations', { ...invite, name: 'eve' })
    const file = await takeBackup(service)
    await download(service, newEuicc(eums), used.activation_code)
    assert.is(await accept(service, ada.token), 201)

    const same = await restoreBackup(service, file)
    assert.equal(await codeOf(same, used).then(({ state }) => state), 'installed')
    assert.equal(await codeOf(same, open).then(({ closed }) => closed), true)
    for (const [code, why] of [
      [used, /8\.1\.1/],
      [open, /8\.2\/1\.2/],
    ] as const)
      assert.match(await outcome(download(same, newEuicc(eums), code.activation_code)), why)
    assert.equal([await accept(same, ada.token), await accept(same, eve.token)], [401, 401])
    const health = expect(await same.request('GET', '/v1/health'), 200)
    const told = health.components.find(({ name }: { name: string }) => name === 'backup.restore')
    assert.match(told?.detail, /1 esim_code, 1 invitation/)
    const svc = (...words: readonly string[]) =>
      runSvc([...words, '--url', same.url], { SVC_ADMIN_TOKEN: same.adminToken })
    assert.match((await svc('esim', 'codes')).stdout, new RegExp(`${open.token} +closed `))
    const shown = await svc('esim', 'qr', open.token)
    assert.equal([shown.stdout, shown.code], ['', 1])
    assert.match(shown.stderr, new RegExp(`svc reopen esim_code ${open.token}`))
    const { batch_id: batch } = expect(await same.request('GET', `/v1/esim/codes/${open.token}`), 200)
    assert.is((await same.request('GET', `/v1/esim/sheet?batch=${batch}`)).status, 404)
    for (const misspelt of [['esim-codes'], ['esim_codes'], ['esim_code', 'e-0']])
      assert.equal((await svc('reopen', ...misspelt)).code, 1, misspelt.join(' '))
    const reopened = await svc('reopen', 'esim_code', open.token)
    assert.is(reopened.stdout, '1 of esim_code can be used again\n', reopened.stderr)
    assert.match((await svc('esim', 'qr', open.token)).stdout, /LPA:1\$/)
    assert.is(await outcome(download(same, newEuicc(eums), open.activation_code)), 'delivered')
    assert.is(await same.stop(), 0)

    const bare = await bareService({ dataDir: other.path, env: ESIM_ENV })
    running.defer(() => bare.kill())
    const adopted = await restoreBackup(bare, file, '?adopt=true')
    assert.equal(await codeOf(adopted, used), {
      ...(await codeOf(adopted, used)),
      state: 'released',
      closed: true,
    })
    assert.match(await outcome(download(adopted, newEuicc(eums), used.activation_code)), /8\.2\/1\.2/)
    const again = await adopted.request('POST', '/v1/esim/issue', {
      body: { imsi_sha256_12: used.imsi_sha256_12 },
    })
    assert.equal([again.status, again.body.error?.code], [409, 'esim_code_conflict'])
    assert.is(await accept(adopted, ada.token), 401)
    const { closed } = expect(await adopted.request('GET', '/v1/restore/closed?limit=10'), 200)
    assert.equal(
      closed.map(({ kind }: { kind: string }) => kind),
      ['esim_code', 'esim_code', 'invitation', 'invitation'],
    )
    assert.is(await adopted.stop(), 0)
  },
  LONG,
)

once.run()
