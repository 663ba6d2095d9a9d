import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { enterOwnMachine, machineFolder, madeOutside } from '../containers/own-machine.ts'
import { makeBuild, makePackages } from '../harness/builds/make-build.ts'
import { until } from '../harness/service.ts'

/** Programs of the other machine are run by an emulator, without which there is nothing to try. */
const EMULATOR = '/usr/bin/qemu-aarch64-static'
/** Emulated, on a machine that may be busy. */
const LIMIT = { limitMs: 900_000 }
const ADMIN = 'emulated-admin-token-0123456789'
const URL_OF_IMAGE = 'http://127.0.0.1:8080'

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

const arm = suite('e2e/real-arm64')

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
}, LIMIT)

arm(
  'a Debian package for arm64 says so, and what its unit starts is a program of arm64',
  () => {
    const { stdout } = spawnSync('dpkg-deb', ['-f', fileOf('.deb'), 'Architecture'], { encoding: 'utf8' })
    assert.is(stdout, 'arm64\n')
    must('dpkg-deb', '-x', fileOf('.deb'), join(root, 'package'))
    const read = (path: string): string => readFileSync(join(root, 'package', path), 'utf8')
    const [, command = ''] = /^ExecStart=(\S+)/m.exec(read('usr/lib/systemd/system/steeple.service')) ?? []
    const [, main = ''] = /"\$root\/(\S+main\.js)"/.exec(read(command)) ?? []
    // No shell: the emulator runs one program and none that this one would start.
    const place = '/package/usr/lib/steeple'
    const {
      status,
      stdout: said,
      stderr,
    } = spawnSync('chroot', [root, '/emulator', `${place}/bin/node`, `${place}/${main}`, '--version'], {
      encoding: 'utf8',
    })
    assert.is(status, 0, stderr)
    assert.match(said, /^for {5}linux arm64, node 24\./m)
  },
  LIMIT,
)

arm(
  'the image of arm64 starts, issues a SIM and stops',
  async () => {
    assert.is(config.architecture, 'arm64')
    const [user] = config.config.User.split(':').map(Number)
    chownSync(join(root, 'var/lib/svc'), user ?? 0, user ?? 0)
    const { Entrypoint: program, Cmd: flags } = config.config
    const child = spawn(
      'chroot',
      [`--userspec=${config.config.User}`, root, '/emulator', ...program, ...flags],
      {
        env: {
          PATH: '/usr/sbin:/usr/bin',
          HOME: '/var/lib/svc',
          SVC_HSS_DRIVER: 'none',
          SVC_ADMIN_TOKEN: ADMIN,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    const over = once(child, 'close')
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        said += chunk
      })
    await until(async () => (await fetch(`${URL_OF_IMAGE}/v1/healthz`)).status === 200, 600_000).catch(
      (cause: unknown) => {
        throw new Error(`it does not answer:\n${said}`, { cause })
      },
    )
    const issued = await fetch(`${URL_OF_IMAGE}/v1/sims`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
      body: '{}',
    })
    assert.is(issued.status, 201, said)
    child.kill('SIGTERM')
    await over
    assert.is(child.exitCode, 0, said)
  },
  LIMIT,
)

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
