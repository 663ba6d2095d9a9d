import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import { ROOT } from '../harness/launch.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

/** A core that somebody has set up by hand and that runs: programs of the names of Open5GS' daemons, and their files. */
const adopt = suite('e2e/adopt-core')
const LIMIT = { limitMs: 180_000 }

const server = (address: string): string => `server:\n      - address: ${address}\n`
const HEAD = '# set up by hand\nlogger:\n  level: info   # as it was\nglobal:\n  max:\n    ue: 1024\n'
const PLMN = 'plmn_id:\n        mcc: 001\n        mnc: 01\n'
const FILES: Readonly<Record<string, string>> = {
  mme: `${HEAD}mme:\n  freeDiameter: /etc/freeDiameter/mme.conf\n  s1ap:\n    ${server('127.0.9.2')}  gtpc:\n    ${server('127.0.9.2')}  gummei:\n    - ${PLMN}      mme_gid: 4\n      mme_code: 9\n  tai:\n    - ${PLMN}      tac: 77\n  hss_map:   # nobody else knows this key\n    - ${PLMN}      realm:   epc.example\n`,
  sgwc: `${HEAD}sgwc:\n  gtpc:\n    ${server('127.0.9.3')}  pfcp:\n    ${server('127.0.9.3')}`,
  sgwu: `${HEAD}sgwu:\n  pfcp:\n    ${server('127.0.9.6')}  gtpu:\n    ${server('127.0.9.6')}`,
  smf: `${HEAD}smf:\n  pfcp:\n    ${server('127.0.9.4')}  session:\n    - subnet: 10.99.0.0/16\n      gateway: 10.99.0.1\n      dnn: internet\n  dns:\n    - 9.9.9.9\n  p-cscf: [ 127.0.0.1 ]\n`,
  upf: `${HEAD}upf:\n  pfcp:\n    ${server('127.0.9.7')}  session:\n    - subnet: 10.99.0.0/16\n      gateway: 10.99.0.1\n      dnn: internet\n      dev: tun7\n`,
}

const folder = mkdtempSync(join(tmpdir(), 'adopt-core-'))
const configDir = join(folder, 'open5gs')
const config = join(folder, 'control.yaml')
const daemons: ChildProcess[] = []
let service: Service

adopt.before(async () => {
  mkdirSync(configDir)
  for (const [role, text] of Object.entries(FILES)) {
    const file = join(configDir, `${role}.yaml`)
    writeFileSync(file, text)
    const idle = ['-e', 'setInterval(() => undefined, 1e9)', '--', '-c', file]
    daemons.push(spawn(process.execPath, idle, { argv0: `/usr/bin/open5gs-${role}d`, stdio: 'ignore' }))
  }
  writeFileSync(config, '# of this box\nserver:\n  mode: lab # still\n')
  service = await startService({ flags: ['--config', config] })
})

adopt.after(async () => {
  await service.stop()
  for (const daemon of daemons) daemon.kill()
  rmSync(folder, { recursive: true })
})

const svc = (...args: readonly string[]) =>
  runSvc(args, { SVC_URL: service.url, SVC_TOKEN: service.adminToken })

/** Content and time of each file of the core. */
const stateOfFiles = (): object =>
  Object.keys(FILES).map((role) => {
    const path = join(configDir, `${role}.yaml`)
    return [readFileSync(path, 'utf8'), statSync(path).mtimeMs]
  })

adopt(
  'is shown as it is before anything is configured, and nothing is changed by it',
  async () => {
    const [files, settings] = [stateOfFiles(), readFileSync(config, 'utf8')]
    const done = await svc('core', 'adopt')
    assert.is(done.code, 0, done.stderr)
    assert.match(done.stdout, /plmn +001-01\ntacs +77\n/)
    assert.match(done.stdout, /"subnet":"10\.99\.0\.0\/16"/)
    assert.match(done.stdout, /Yours alone in mme\.yaml: .*mme\.hss_map/)
    assert.match(done.stdout, /mme\.network_name/)
    assert.match(done.stdout, /svc core adopt --yes \(nothing restarts\)/)
    // In the order in which they were started, as the kernel numbers them.
    assert.match(
      done.stderr,
      /(?:(?:mme|sgwc|sgwu|smf|upf)(?:, |: )){5}without systemd and without a container/,
    )
    assert.equal([stateOfFiles(), readFileSync(config, 'utf8')], [files, settings])
  },
  LIMIT,
)

adopt(
  'is watched with settings that nobody typed, and not written to',
  async () => {
    const files = stateOfFiles()
    const refused = await svc('core', 'adopt', '--yes')
    assert.is(refused.code, 1)
    assert.match(refused.stderr, /nobody can restart them: use --look/)
    assert.match((await svc('core', 'adopt', '--look', '--yes')).stderr, /name one of them/)
    assert.equal(stateOfFiles(), files)
    const done = await svc('core', 'adopt', '--look')
    assert.is(done.code, 0, done.stderr)
    const text = readFileSync(config, 'utf8')
    assert.match(text, /^# of this box\nserver:\n {2}mode: lab # still\n/)
    assert.match(text, /mcc: "001"/)
    const { body } = await service.request('GET', '/v1/status')
    assert.equal([body.plmn, body.tac, body.apns], ['001-01', 77, ['internet']])
    const { body: found } = await service.request('GET', '/v1/core/found')
    assert.equal(found.settings, {})
    await eventually(async () => {
      const { body: health } = await service.request('GET', '/v1/health')
      const core = health.components.find((one: { name: string }) => one.name === 'core-config.core')
      assert.match(core?.detail ?? '', /only looked at: 5 files of others/)
    })
    assert.equal(stateOfFiles(), files)
  },
  LIMIT,
)

/** What the test uses of the engine of southbound's own tests. */
interface TestEngine {
  readonly socket: string
  readonly restarts: readonly string[]
  add(name: string): { argv: readonly string[]; folder: string }
  close(): Promise<void>
}

adopt(
  'is taken over in its containers by one command: no line changes, nothing restarts, and what is theirs is named',
  async () => {
    await service.stop()
    for (const daemon of daemons.splice(0)) {
      daemon.kill()
      await once(daemon, 'exit')
    }
    const support = join(ROOT, 'packages/southbound/test/support/stand-in-engine.ts')
    const { startEngine } = (await import(support)) as { startEngine(): Promise<TestEngine> }
    const engine = await startEngine()
    try {
      for (const role of Object.keys(FILES)) {
        const container = engine.add(`my-${role}`)
        container.argv = [`open5gs-${role}d`, '-c', `/etc/open5gs/${role}.yaml`]
        container.folder = configDir
      }
      writeFileSync(config, `hss:\n  engine_socket: ${engine.socket}\n`)
      service = await startService({ flags: ['--config', config] })
      const files = stateOfFiles()
      const before = readFileSync(config, 'utf8')
      const wrong = await svc('core', 'adopt', '--yes', '--ours', 'mme.yaml:mme.nonsense')
      assert.is(wrong.code, 1)
      assert.match(wrong.stderr, /mme\.yaml:mme\.nonsense is no line.*Nothing was changed/)
      assert.equal([stateOfFiles(), readFileSync(config, 'utf8')], [files, before])
      // What the page does: the same settings over the API, which takes no other value of these keys.
      const { body: found } = await service.request('GET', '/v1/core/found')
      assert.equal(found.drive, { 'southbound.driver': 'container' })
      const put = (wanted: object) =>
        service.request('PUT', '/v1/settings?found=true', { body: { settings: wanted } })
      assert.is((await put({ ...found.settings, 'core_a.config_dir': '/etc' })).status, 400)
      assert.is((await put(found.settings)).status, 200)
      assert.equal((await service.request('GET', '/v1/core/found')).body.settings, {})
      assert.equal(stateOfFiles(), files)
      const done = await svc('core', 'adopt', '--yes')
      assert.is(done.code, 0, done.stderr + done.stdout)
      assert.match(done.stdout, /core-originals\/core_a/)
      const { body: plan } = await service.request('GET', '/v1/core/plan')
      assert.equal([plan.driver, plan.state, plan.held, plan.action], ['container', 'in_sync', [], 'none'])
      const mine = plan.overlays.find(({ path }: { path: string }) => path === 'mme.yaml')
      assert.ok(mine.keys.includes('mme.hss_map') && mine.keys.includes('mme.freeDiameter'), mine.keys.join())
      assert.match(readFileSync(config, 'utf8'), /mme: my-mme/)
      assert.equal([stateOfFiles(), engine.restarts], [files, []])
      const { body: audit } = await service.request('GET', '/v1/audit?limit=50')
      assert.ok(audit.entries.some(({ action }: { action: string }) => action === 'core.adopt'))
      const { body: tac } = await service.request('GET', '/v1/core/plan?tac=78')
      const [changed, ...others] = tac.files.filter(({ change }: { change: string }) => change !== 'same')
      assert.is(changed.path, 'mme.yaml')
      assert.equal(others, [])
      assert.equal(
        changed.diff.split('\n').filter((line: string) => /^[-+] /.test(line)),
        ['-      tac: 77', '+      tac: "78"'],
      )
      const asked = await svc('core', 'release')
      assert.match(asked.stderr, /the files are as they were before, and nothing restarts/)
      const released = await svc('core', 'release', '--yes')
      assert.is(released.code, 0, released.stderr)
      assert.equal(
        readdirSync(configDir).toSorted(),
        Object.keys(FILES)
          .map((role) => `${role}.yaml`)
          .toSorted(),
      )
      assert.equal([stateOfFiles(), engine.restarts], [files, []])
    } finally {
      await service.stop()
      await engine.close()
    }
  },
  LIMIT,
)

adopt.run()
