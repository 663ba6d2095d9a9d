import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import { debianRoot } from '../containers/debian-root.ts'
import { startPodman } from '../containers/engine.ts'
import { enterOwnMachine, madeOutside } from '../containers/own-machine.ts'
import { makeBuild, makePackages } from '../harness/builds/make-build.ts'
import { ROOT } from '../harness/launch.ts'

/** Debian's libraries and the programs come over the network. */
const folder = await madeOutside(async (into) => {
  // The same build twice, in two places and by two people.
  for (const [name, umask] of [
    ['one', '022'],
    ['other', '077'],
  ] as const) {
    const build = await makeBuild(join(into, name), ['--only', 'driver-hss,alerts,backup'])
    await makePackages(build.folder, join(into, `${name}-out`), ['deb', 'oci'], umask)
    rmSync(build.folder, { recursive: true })
  }
})
enterOwnMachine(import.meta.filename)
const URL_OF_PACKAGE = 'http://127.0.0.1:8080'
const ADMIN = 'packaged-admin-token-0123456789'

const packages = suite('e2e/real-packages', { limitMs: 600_000 })
const deb = fileOf('one', '.deb')
const image = fileOf('one', '.oci.tar')

packages('packages of one commit are the same twice', () => {
  for (const ending of ['.deb', '.oci.tar']) {
    const [one, other] = [fileOf('one', ending), fileOf('other', ending)]
    assert.ok(statSync(one).size > 20_000_000)
    assert.is(readFileSync(`${one}.sha256`, 'utf8'), readFileSync(`${other}.sha256`, 'utf8'))
    assert.ok(readFileSync(one).equals(readFileSync(other)))
  }
})

packages(
  'a Debian package is installed, serves, keeps what it has over an upgrade and when it is purged',
  async () => {
    const root = debianRoot()
    const file = root.bring(deb)
    const installed = root.run('dpkg', '-i', file)
    assert.is(installed.code, 0, installed.said)
    assert.match(root.run('svc', '--version').said, /^0\.\d+\.\d+\ncommit {2}[0-9a-f]{40}/)
    assert.is(root.run('stat', '-c', '%U %a', '/var/lib/svc').said, 'steeple 700\n')
    assert.is(root.run('stat', '-c', '%a', '/usr/share/steeple/whole-box/core/daemon').said, '755\n')
    assert.is(
      root.run('runuser', '-u', 'steeple', '--', 'svc', 'config', 'check', '/etc/svc/control.yaml').code,
      0,
    )

    const first = await serving(
      root.start('steeple:steeple', startOf(root.read('/usr/lib/systemd/system/steeple.service')), {}),
    )
    const token = root.read('/var/lib/svc/first-token').trim()
    assert.is((await ask(token, 'POST', '/v1/sims', { label: 'village' })).status, 201)
    assert.is(await ended(first), 0)

    const upgraded = root.run('dpkg', '-i', file)
    assert.is(upgraded.code, 0, upgraded.said)
    const second = await serving(
      root.start('steeple:steeple', startOf(root.read('/usr/lib/systemd/system/steeple.service')), {}),
    )
    const { body } = await ask(token, 'GET', '/v1/sims')
    assert.equal(
      body.sims.map(({ label }: { readonly label: string }) => label),
      ['village'],
    )
    assert.is(await ended(second), 0)

    assert.is(root.run('dpkg', '-r', 'steeple').code, 0)
    assert.not(root.has('/usr/lib/steeple') || root.has('/usr/bin/svc'))
    assert.ok(root.has('/etc/svc/control.yaml'))
    const purged = root.run('dpkg', '-P', 'steeple')
    assert.is(purged.code, 0, purged.said)
    assert.match(purged.said, /steeple: kept: \/var\/lib\/svc .* and the user steeple\./)
    assert.not(root.has('/etc/svc'))
    assert.ok(root.has('/var/lib/svc/svc.db'))
  },
)

packages('the unit is as hard as systemd can judge', () => {
  const { status, stdout, stderr, error } = spawnSync(
    'systemd-analyze',
    ['security', '--offline=true', '--threshold=20', '--no-pager', join(ROOT, 'packaging/steeple.service')],
    { encoding: 'utf8', env: { ...process.env, SYSTEMD_COLORS: '0' } },
  )
  // It ends with 1 above the threshold, which is 2.0.
  assert.is(status, 0, `${error?.message ?? ''}${stdout}${stderr}`)
  assert.match(stdout, /Overall exposure level for steeple\.service: [01]\.\d/)
  const verified = spawnSync(
    'systemd-analyze',
    ['verify', '--man=no', join(ROOT, 'packaging/steeple.service')],
    { encoding: 'utf8' },
  )
  // The programs are in no place of this machine; of all else systemd says nothing.
  const said = verified.stderr
    .split('\n')
    .filter((line) => line !== '' && !/\/usr\/lib\/steeple\/bin\/\w+ is not executable/.test(line))
  assert.equal(said, [])
})

packages(
  'an image serves without root, without capabilities and on a root that cannot be written',
  async () => {
    const engine = await startPodman()
    try {
      const [, name = ''] =
        /Loaded image: (\S+)/.exec(await engine.command('load', '--quiet', '-i', image)) ?? []
      assert.match(name, /^localhost\/steeple:\d/)
      const flags = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges', '--network=host']
      const env = ['--env', `SVC_ADMIN_TOKEN=${ADMIN}`, '--env', 'SVC_HSS_DRIVER=none']
      const own = ['--cgroup-parent=/steeple-test', '--stop-timeout=30']
      await engine.command('run', '--detach', '--name', 'box', ...flags, ...own, ...env, name)
      await answers(() => engine.output('box'))
      assert.is((await ask(ADMIN, 'POST', '/v1/sims', { label: 'ship' })).status, 201)
      const { pid } = await engine.state('box')
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      assert.match(status, /^Uid:\t65532\t65532\t65532\t65532$/m)
      assert.match(status, /^CapBnd:\t0{16}$/m)
      assert.match(await engine.command('exec', 'box', 'svc', '--version'), /^0\.\d+\.\d+\ncommit /)
      // There is nothing to run but what it is for.
      const shell = await engine
        .command('exec', 'box', 'sh', '-c', 'true')
        .catch((error: unknown) => String(error))
      assert.match(shell, /not found|no such file/i)
      await engine.stop('box')
      await engine.again('box')
      await answers(() => engine.output('box'))
      const { body } = await ask(ADMIN, 'GET', '/v1/sims')
      assert.is(body.sims.length, 1)
    } finally {
      await engine.close()
    }
  },
)

/** What the unit starts, as its user would. */
function startOf(unit: string): readonly string[] {
  const command = /^ExecStart=(.+)$/m.exec(unit)?.[1]
  if (command === undefined) throw new Error('the unit starts nothing')
  return command.split(' ')
}

interface Running {
  readonly child: ChildProcess
  readonly over: Promise<unknown>
}

async function serving(child: ChildProcess): Promise<Running> {
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      said += chunk
    })
  const over = once(child, 'close')
  await answers(async () => said)
  return { child, over }
}

async function ended({ child, over }: Running): Promise<number | null> {
  child.kill('SIGTERM')
  await over
  return child.exitCode
}

async function answers(said: () => Promise<string>): Promise<void> {
  await eventually(async () => (await fetch(`${URL_OF_PACKAGE}/v1/healthz`)).status === 200).catch(
    async (cause: unknown) => {
      throw new Error(`it does not answer:\n${await said()}`, { cause })
    },
  )
}

async function ask(
  token: string,
  method: string,
  path: string,
  body?: object,
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever shape the route documents
): Promise<{ readonly status: number; readonly body: any }> {
  const answer = await fetch(URL_OF_PACKAGE + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: await answer.json() }
}

function fileOf(name: string, ending: string): string {
  const out = join(folder, `${name}-out`)
  const file = readdirSync(out).find((one) => one.endsWith(ending))
  if (file === undefined) throw new Error(`there is no ${ending} in ${out}`)
  return join(out, file)
}

packages.run()
