import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import { type DebianRoot, debianRoot } from '../containers/debian-root.ts'
import { enterOwnMachine, machineFolder, madeOutside } from '../containers/own-machine.ts'
import { makeBuild, makePackages } from '../harness/builds/make-build.ts'

/** Programs of the other machine are run by an emulator, without which there is nothing to try. */
const EMULATOR = '/usr/bin/qemu-aarch64-static'
const ADMIN = 'emulated-admin-token-0123456789'
const URL_OF_IT = 'http://127.0.0.1:8080'
const ENVIRONMENT = { HOME: '/var/lib/svc', SVC_HSS_DRIVER: 'none', SVC_ADMIN_TOKEN: ADMIN }

if (!existsSync(EMULATOR) && process.env.CI !== 'true') {
  process.stdout.write(`needs qemu-user-static (${EMULATOR})\n`)
  process.exit(0)
}
const folder = await madeOutside(async (into) => {
  const { folder: build } = await makeBuild(join(into, 'build'), ['--arch', 'arm64', '--only', 'driver-hss'])
  await makePackages(build, join(into, 'out'), ['deb', 'oci'])
  rmSync(build, { recursive: true })
})
enterOwnMachine(import.meta.filename)

const arm = suite('e2e/real-arm64', { limitMs: 900_000 })

/** The files of the image, and what emulates a machine for them. */
const root = join(machineFolder(), 'image')
let config: ImageConfig

arm.before(() => {
  config = unpack(fileOf('.oci.tar'), root)
  copyFileSync(EMULATOR, join(root, 'emulator'))
  mkdirSync(join(root, 'proc'))
  mkdirSync(join(root, 'dev'))
  must('mount', '-t', 'proc', 'proc', join(root, 'proc'))
  must('mount', '--rbind', '/dev', join(root, 'dev'))
})

arm('a Debian package for arm64 is installed, issues a SIM, stops, and is removed', async () => {
  const { stdout } = spawnSync('dpkg-deb', ['-f', fileOf('.deb'), 'Architecture'], { encoding: 'utf8' })
  assert.is(stdout, 'arm64\n')
  const debian = debianRoot()
  must('chroot', debian.folder, 'dpkg', '--add-architecture', 'arm64')
  // The libraries of that machine are the image's; dpkg knows nothing of them.
  const installed = debian.run('dpkg', '-i', '--force-depends', debian.bring(fileOf('.deb')))
  assert.is(installed.code, 0, installed.said)
  const { said: status } = debian.run('dpkg', '-s', 'steeple:arm64')
  assert.match(status, /^Status: install ok installed$/m)
  assert.is(debian.run('stat', '-c', '%U %a', '/var/lib/svc').said, 'steeple 700\n')
  // What lies below is taken for the system's own, so it is libraries and nothing else.
  const libraries = join(debian.folder, 'libraries-of-arm64')
  mkdirSync(libraries)
  must('cp', '-a', join(root, 'lib'), libraries)
  must('cp', '-a', join(root, 'usr/lib/aarch64-linux-gnu'), join(libraries, 'lib'))
  copyFileSync(EMULATOR, join(debian.folder, 'emulator'))
  const emulator = ['/emulator', '-L', '/libraries-of-arm64']
  const served = await serving(
    debian.start('steeple:steeple', [...emulator, ...startOf(debian)], ENVIRONMENT),
  )
  assert.match(debian.run(...emulator, ...svcOf(debian), '--version').said, /^for {5}linux arm64, node 24\./m)
  await issues(served)
  assert.is(await ended(served), 0, served.said())
  const removed = debian.run('dpkg', '-r', 'steeple')
  assert.is(removed.code, 0, removed.said)
  assert.not(debian.has('/usr/lib/steeple') || debian.has('/usr/bin/svc'))
  assert.ok(debian.has('/var/lib/svc/svc.db'))
})

arm('the image of arm64 starts, issues a SIM and stops', async () => {
  assert.is(config.architecture, 'arm64')
  const { User: user, Entrypoint: program, Cmd: flags } = config.config
  const [id = 0] = user.split(':').map(Number)
  chownSync(join(root, 'var/lib/svc'), id, id)
  const served = await serving(
    spawn('chroot', [`--userspec=${user}`, root, '/emulator', ...program, ...flags], {
      env: { PATH: '/usr/sbin:/usr/bin', ...ENVIRONMENT },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
  await issues(served)
  assert.is(await ended(served), 0, served.said())
})

/** What the command starts: the emulator runs one program, and none that a shell would start. */
function svcOf(debian: DebianRoot): readonly string[] {
  const script = debian.read('/usr/lib/steeple/bin/svc')
  const [, command = ''] = /^exec (.+) "\$@"$/m.exec(script) ?? []
  const place = '/usr/lib/steeple'
  const filled = command.replaceAll('"', '').replace('$node', `${place}/bin/node`).replace('$root', place)
  const parts = filled.split(' ')
  if (!parts.some((part) => part.endsWith('main.js'))) throw new Error(`svc starts nothing known:\n${script}`)
  return parts
}

/** What the unit starts, with its flags. */
function startOf(debian: DebianRoot): readonly string[] {
  const unit = debian.read('/usr/lib/systemd/system/steeple.service')
  const [, flags] = /^ExecStart=\S+\/bin\/launch \S+ (.+)$/m.exec(unit) ?? []
  if (flags === undefined) throw new Error(`the unit starts nothing known:\n${unit}`)
  return [...svcOf(debian), ...flags.split(' ')]
}

interface Served {
  readonly child: ChildProcess
  readonly over: Promise<unknown>
  readonly said: () => string
}

/** Waits until a service that was started answers. */
async function serving(child: ChildProcess): Promise<Served> {
  const over = once(child, 'close')
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      said += chunk
    })
  const isOver = (): boolean => child.exitCode !== null
  await eventually(
    async () => isOver() || (await fetch(`${URL_OF_IT}/v1/healthz`)).status === 200,
    600_000,
  ).catch((cause: unknown) => {
    throw new Error(`it does not answer:\n${said}`, { cause })
  })
  assert.not(isOver(), said)
  return { child, over, said: () => said }
}

async function issues({ said }: Served): Promise<void> {
  const issued = await fetch(`${URL_OF_IT}/v1/sims`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
    body: '{}',
  })
  assert.is(issued.status, 201, said())
}

async function ended({ child, over }: Served): Promise<number | null> {
  child.kill('SIGTERM')
  await over
  return child.exitCode
}

interface ImageConfig {
  readonly architecture: string
  readonly config: {
    readonly User: string
    readonly Entrypoint: readonly string[]
    readonly Cmd: readonly string[]
  }
}

/** Lays the layers of an image one over the other, as what runs it does; gives its configuration. */
function unpack(file: string, root: string): ImageConfig {
  const layout = join(machineFolder(), 'layout')
  for (const one of [layout, root]) mkdirSync(one)
  must('tar', '-xf', file, '-C', layout)
  const blob = (digest: string): string => join(layout, 'blobs', digest.replace(':', '/'))
  const { manifests } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'))
  const { config, layers } = JSON.parse(readFileSync(blob(manifests[0].digest), 'utf8'))
  for (const { digest } of layers) must('tar', '-xzf', blob(digest), '-C', root)
  const read: ImageConfig = JSON.parse(readFileSync(blob(config.digest), 'utf8'))
  rmSync(layout, { recursive: true })
  return read
}

function must(program: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`)
}

function fileOf(ending: string): string {
  const out = join(folder, 'out')
  const file = readdirSync(out).find((one) => one.endsWith(ending))
  if (file === undefined) throw new Error(`there is no ${ending} in ${out}`)
  return join(out, file)
}

arm.run()
