import { assert, suite } from '@steeple/testkit'
import { fakeService } from './fake-service.ts'
import { svc } from './svc.ts'

const test = suite('cli/core')
const PLAN = {
  core: 'core_a',
  driver: 'container',
  config_dir: '/srv/core',
  state: 'changes',
  files: [
    {
      path: 'mme.yaml',
      change: 'changed',
      daemon: 'mme',
      diff: '--- a/mme.yaml\n-tac: 7\n+tac: \u001b[2J8\n',
    },
    { path: 'hss.yaml', change: 'same', daemon: 'hss' },
  ],
  daemons: [
    { name: 'mme', container: 'c-mme', action: 'restart', drops: 'lte', reason: 'mme.yaml is changed' },
    { name: 'hss', container: null, action: 'none', drops: 'none', reason: 'nothing changed' },
  ],
  subscribers_dropped: 3,
  problems: ['nobody restarts hss'],
}

test('shows what a change would do: what restarts, who drops, which lines, and what stands in the way', async () => {
  await using service = await fakeService(() => ({ body: PLAN }))
  const env = { SVC_URL: service.url, SVC_TOKEN: 'svc_test' }
  const { code, out, err } = await svc(['core', 'plan'], { env })
  assert.is(code, 0)
  assert.equal(
    service.seen.map(({ method, path }) => [method, path]),
    [['GET', '/v1/core/plan']],
  )
  assert.match(out, /^subscribers_dropped +3$/m)
  assert.match(out, /^mme +c-mme +restart +lte +mme\.yaml is changed$/m)
  assert.match(out, /^hss +- +none +- +nothing changed$/m)
  assert.match(out, /^mme\.yaml +changed +mme$/m)
  assert.not.match(out, /^hss\.yaml/m)
  assert.match(out, /^-tac: 7$/m)
  assert.not.ok(out.includes('\u001b'), 'the terminal must not be driven')
  assert.match(err, /Problem: nobody restarts hss/)
  const asJson = await svc(['core', 'plan', '--json'], { env })
  assert.equal(JSON.parse(asJson.out), PLAN)
})

test('replaces files of others only once these were named and agreed to, and puts them back', async () => {
  const plan = { ...PLAN, held: ['freeDiameter/mme.conf', 'mme.yaml'] }
  const copy = '/var/lib/core-originals/core_a/20261128T084506994Z-7a57fc5f'
  const restored = { copy: 'c', changed: ['mme.yaml'], restarted: [], problem: 'mme does not get well' }
  await using service = await fakeService(({ path }) => ({
    body: path.endsWith('plan') ? plan : path.endsWith('take-over') ? { files: plan.held, copy } : restored,
  }))
  const env = { SVC_URL: service.url, SVC_TOKEN: 'svc_test' }
  const asked = await svc(['core', 'take-over'], { env })
  assert.is(asked.code, 1)
  assert.match(asked.err, /in \/srv\/core would be replaced.*\n {2}freeDiameter\/mme\.conf\n {2}mme\.yaml\n/)
  assert.equal(
    service.seen.map(({ method }) => method),
    ['GET'],
  )
  const agreed = await svc(['core', 'take-over', '--yes'], { env })
  assert.is(agreed.code, 0)
  assert.ok(agreed.out.includes(copy))
  assert.equal(service.seen.at(-1)?.body, { files: plan.held })
  const back = await svc(['core', 'restore-original'], { env })
  assert.is(back.code, 1)
  assert.match(back.out, /mme does not get well/)
})

test('says none where nothing restarts, and shows no table without a row', async () => {
  const [file] = PLAN.files
  const body = { ...PLAN, action: 'none', daemons: [], files: [{ ...file, daemon: null }], problems: [] }
  await using service = await fakeService((_, before) => ({
    body: before === 0 ? body : { ...body, files: [] },
  }))
  const env = { SVC_URL: service.url, SVC_TOKEN: 'svc_test' }
  const changes = await svc(['core', 'plan'], { env })
  assert.match(changes.out, /^action +none$/m)
  assert.match(changes.out, /^mme\.yaml +changed +-$/m)
  assert.not.match(changes.out, /DAEMON +RUNS IN/)
  const inSync = await svc(['core', 'plan'], { env })
  assert.not.match(inSync.out, /FILE +CHANGE/)
})

test('says what is missing where nothing can be compared, instead of every line that the core would get', async () => {
  const problem = 'core_a.config_dir is empty: name the directory'
  const files = ['hss.yaml', 'mme.yaml'].map((path) => ({ path, change: 'added', daemon: 'x' }))
  const body = { ...PLAN, state: 'unconfigured', config_dir: '', files, problems: [problem], notes: [] }
  await using service = await fakeService(() => ({ body }))
  const env = { SVC_URL: service.url, SVC_TOKEN: 'svc_test' }
  const { code, out, err } = await svc(['core', 'plan'], { env })
  assert.is(code, 0)
  assert.match(err, `Problem: ${problem}`)
  assert.match(out, /Rendered: 2 files \(hss\.yaml, mme\.yaml\)\./)
  assert.ok(out.trim().split('\n').length < 12, out)
})

test.run()
