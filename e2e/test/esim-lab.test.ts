import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import { type LabProcess, labPhones, startLabCore } from '../harness/lab-core.ts'
import { runSvc, type Service, startedProcesses } from '../harness/service.ts'

const ADDRESS = 'smdp.lab.example'
const LIMIT = { limitMs: 120_000 }

const esim = suite('e2e/esim-lab')
const started = startedProcesses()

interface LabEsim {
  readonly phone: string
  readonly euicc: string
  readonly enabled: boolean
  readonly waiting_notifications: number
}
interface Answer {
  readonly error?: string
  readonly esims?: readonly LabEsim[]
}
interface Code {
  readonly token: string
  readonly activation_code: string
  readonly imsi_sha256_12: string
}

/** A box with certificates of its own, and a lab core that has a maker of eUICCs under them. */
async function withBoth(
  work: (service: Service, lab: LabProcess, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-esim-'))
  const labFolder = join(folder, 'lab-core')
  const lab = await startLabCore(labFolder)
  try {
    const env = { ...lab.env, SVC_ESIM_ENABLED: 'true', SVC_ESIM_SMDP_ADDRESS: ADDRESS }
    const service = await started.start({ dataDir: join(folder, 'data'), env })
    await svc(service, ['init'])
    await svc(service, ['lab-eum', '--out', join(labFolder, 'eum.json')])
    await work(service, lab, folder)
    await service.stop()
  } finally {
    await lab.stop()
    started.endAll()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function svc(service: Service, words: readonly string[]): Promise<void> {
  const run = await runSvc(['esim', 'certs', ...words], {
    SVC_URL: service.url,
    SVC_ADMIN_TOKEN: service.adminToken,
  })
  assert.is(run.code, 0, run.stderr)
}

async function issue(service: Service, body: object = {}): Promise<Code> {
  const answer = await service.request('POST', '/v1/esim/issue', { body })
  assert.is(answer.status, 201, JSON.stringify(answer.body))
  return answer.body
}

async function asked(lab: LabProcess, path: string, body?: object): Promise<Answer> {
  const answer = await fetch(`${lab.urls.control}/esims${path}`, {
    method: 'POST',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return (await answer.json()) as Answer
}

async function phone(lab: LabProcess, name: string, isOn: boolean): Promise<void> {
  await eventually(async () => {
    const [found] = (await labPhones(lab.urls.control)).filter((one) => one.phone === name)
    return (found?.state === 'connected' || found?.state === 'idle') === isOn
  })
}

async function codeOf(
  service: Service,
  { token }: Code,
): Promise<{ state: string; profile: { state: string } }> {
  return (await service.request('GET', `/v1/esim/codes/${token}`)).body
}

esim(
  'downloads an eSIM from the box, attaches with what was in it, and is cut off by suspend',
  async () => {
    await withBoth(async (service, lab, folder) => {
      const code = await issue(service)
      const hash = code.imsi_sha256_12
      const got = await asked(lab, '', { activation_code: code.activation_code, server: service.url })
      assert.equal(
        got.esims?.map(({ phone: name, enabled, waiting_notifications }) => [
          name,
          enabled,
          waiting_notifications,
        ]),
        [[hash, true, 0]],
        got.error,
      )
      await phone(lab, hash, true)
      const held = await codeOf(service, code)
      assert.equal([held.state, held.profile.state], ['installed', 'enabled'])
      assert.is((await service.request('POST', `/v1/sims/${hash}/suspend?wait=30s`)).status, 200)
      await phone(lab, hash, false)
      assert.is((await service.request('POST', `/v1/sims/${hash}/resume?wait=30s`)).status, 200)
      await asked(lab, `/${hash}/disable`)
      assert.is((await codeOf(service, code)).profile.state, 'disabled')
      await asked(lab, `/${hash}/enable`)
      await phone(lab, hash, true)
      await asked(lab, `/${hash}/delete`)
      assert.is((await codeOf(service, code)).profile.state, 'deleted')
      assert.equal((await labPhones(lab.urls.control)).length, 0)
      // What the lab keeps of it holds keys; what it says holds none.
      const files = readdirSync(join(folder, 'lab-core', 'euicc')).filter((name) => name.endsWith('.json'))
      assert.is(files.length, 1)
      assert.match(readFileSync(join(folder, 'lab-core', 'euicc', files[0] ?? ''), 'utf8'), /PRIVATE KEY/)
    })
  },
  LIMIT,
)

esim(
  'asks for a confirmation code, refuses a wrong one and takes the right one, on either curve',
  async () => {
    await withBoth(async (service, lab) => {
      for (const curve of ['P-256', 'brainpoolP256r1']) {
        const { activation_code } = await issue(service, { confirmation_code: '4711' })
        const wish = { activation_code, curve, server: service.url }
        assert.match((await asked(lab, '', wish)).error ?? '', /confirmation code/)
        assert.match((await asked(lab, '', { ...wish, confirmation_code: '1' })).error ?? '', /8\.2\.7\/3\.8/)
        const got = await asked(lab, '', { ...wish, confirmation_code: '4711' })
        assert.is(got.esims?.[0]?.enabled, true, got.error)
      }
      const again = await issue(service)
      const [first] = ((await (await fetch(`${lab.urls.control}/esims`)).json()) as { esims: LabEsim[] })
        .esims
      const second = await asked(lab, '', { activation_code: again.activation_code, euicc: first?.euicc })
      assert.is(second.esims?.[0]?.euicc, first?.euicc, second.error)
      const other = await asked(lab, '', { activation_code: again.activation_code })
      assert.match(other.error ?? '', /was refused: 8\.(1\.1\/3\.8|2\/1\.2)/, other.error)
    })
  },
  LIMIT,
)

esim.run()
