import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { makeBuild, makePackages } from '../harness/builds/make-build.ts'
import { typedShell } from '../harness/tutorial-steps.ts'

/** Somebody with no rights, and none to any folder but his own. */
const NOBODY = 65_534
const KINDS = ['tar', 'deb', 'npm']
/** Made by somebody else once more. Debian's and those of containers are compared so in real-packages.test, and Debian's is installed there. */
const AGAIN = ['tar', 'npm']

const archive = suite('e2e/archive', { limitMs: 600_000 })
let folder: string
let packed: string
let files: readonly string[]

archive.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-archive-'))
  chmodSync(folder, 0o755)
  packed = join(folder, 'packed')
  const build = await makeBuild(join(folder, 'build'), ['--only', 'driver-hss'])
  files = await makePackages(build.folder, packed, KINDS)
  await makePackages(build.folder, join(folder, 'other'), AGAIN, '077')
  rmSync(build.folder, { recursive: true })
})
archive.after(() => rmSync(folder, { recursive: true, force: true }))

archive('packages are the same whatever the umask of who makes them', () => {
  assert.ok(files.length >= 4)
  const hashes = (name: string): readonly string[] =>
    readFileSync(join(folder, name, 'SHA256SUMS'), 'utf8')
      .split('\n')
      .filter((line) => !line.endsWith('.deb'))
  assert.equal(hashes('other'), hashes('packed'))
  assert.ok(hashes('other').length >= files.length)
})

archive('beside each there is its hash, and one file has all, as sha256sum reads them', () => {
  const check = (list: string): string =>
    execFileSync('sha256sum', ['--strict', '-c', list], { cwd: packed, encoding: 'utf8' })
  const names = files.map((file) => basename(file)).toSorted()
  const told = check('SHA256SUMS').trim().split('\n')
  assert.equal(
    told,
    names.map((name) => `${name}: OK`),
  )
  for (const name of names) assert.is(check(`${name}.sha256`), `${name}: OK\n`)
  assert.equal(
    readdirSync(packed).toSorted(),
    ['SHA256SUMS', ...names, ...names.map((name) => `${name}.sha256`)].toSorted(),
  )
})

archive('the page beside the Debian package is that of what is in it', () => {
  const [deb = ''] = files.filter((one) => one.endsWith('.deb'))
  const into = join(folder, 'unpacked')
  execFileSync('dpkg-deb', ['-x', deb, into])
  const documents = join(into, 'usr/share/doc/steeple')
  const text = readFileSync(join(documents, 'packages.md'), 'utf8')
  assert.match(text, /^# Install a package$/m)
  assert.not.match(text, /<!--|lab core|bin\/lab/)
  assert.is(text, readFileSync(join(documents, 'html/packages.md'), 'utf8'))
})

archive(
  'the lines of its README start it in an empty folder, and leave what they say when it is removed',
  async () => {
    const places = Object.fromEntries(
      ['home', 'tmp', 'place'].map((name) => [name, join(folder, 'somebody', name)]),
    )
    for (const path of Object.values(places)) {
      mkdirSync(path, { recursive: true })
      chownSync(path, NOBODY, NOBODY)
    }
    const { home = '', tmp = '', place = '' } = places
    const [file = ''] = files.filter((one) => one.endsWith('.tar.gz'))
    const name = basename(file, '.tar.gz')
    // A network of its own: its port is free.
    const alone = ['-n', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
    const user = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: home, TMPDIR: tmp, LANG: 'C.UTF-8' }
    const child = spawn('unshare', [...alone, ...user, 'bash'], { cwd: place, env, stdio: 'pipe' })
    const shell = typedShell(child)
    try {
      await shell.run(`tar -xzf ${file} && cd ${name}`)
      const readme = readFileSync(join(place, name, 'README.md'), 'utf8')
      assert.match(readme, /^# Steeple \d+\.\d+\.\d+ for Linux /)
      // The build has no tap.
      assert.not.match(readme, /tap|package:|FOLDER/)
      const [start = '', remove = '', ...more] = commandsOf(readme)
      assert.is(more.length, 0)
      const lines = start.trim().split('\n')
      assert.ok(lines.length <= 10, `${lines.length} lines`)
      const end = lines.pop() ?? ''
      const said = await shell.run(lines.join('\n'))
      assert.match(said, /\bvillage\b/, said)
      assert.match(said, /mode +lab|state +bootstrap/, said)
      // It is as it says: the documentation beside the API.
      const page =
        "bin/node -e \"fetch('http://127.0.0.1:8080/docs').then(({ status }) => console.log('docs', status))\""
      const shown = await shell.run(page)
      assert.match(shown, /docs 200/, shown)
      assert.match(await shell.run(`${end}; echo ended with $?`), /ended with 0/)
      // Again, with what it has.
      const [, again = ''] = lines
      const later = `${again}\nuntil bin/svc status; do sleep 0.1; done; bin/svc sim list; ${end}`
      assert.match(await shell.run(later), /\bvillage\b/)
      assert.equal(readdirSync(place).toSorted(), [name, 'steeple-data'].toSorted())
      await shell.run(remove)
      assert.equal(readdirSync(place), ['steeple-data'])
      assert.ok(
        existsSync(join(place, 'steeple-data/svc.db')) && existsSync(join(place, 'steeple-data/keys')),
      )
      assert.equal([readdirSync(home), readdirSync(tmp)], [[], []])
    } finally {
      child.kill('SIGKILL')
    }
  },
)

/** The commands that a README has, block by block. */
function commandsOf(text: string): readonly string[] {
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)
}

archive.run()
