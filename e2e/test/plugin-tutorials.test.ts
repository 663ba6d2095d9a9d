import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { assert, eventually, suite, unusedPort } from '@steeple/testkit'
import { MAIN } from '../harness/builds/program.ts'
import { ROOT } from '../harness/launch.ts'
import { type Registry, startRegistry } from '../harness/plugins/registry.ts'

/** What a tutorial has its reader do: write a file, or run commands. */
type Step =
  | { readonly kind: 'file'; readonly path: string; readonly content: string }
  | { readonly kind: 'commands'; readonly once: string; readonly look: string }

/**
 * The steps of a page, in order. A file is a block behind a line that is its name and a colon. Commands behind the last `sleep` of
 * a block look at what came of it, as often as it takes; other waits stand there for people.
 */
function stepsOfTutorial(page: string, replace: (text: string) => string): readonly Step[] {
  const text = replace(readFileSync(join(ROOT, 'docs/tutorials', page), 'utf8'))
  const steps: Step[] = []
  for (const [, path, language, body = ''] of text.matchAll(
    /^(?:`([\w./-]+)`:\n\n)?```(\w+)\n([\s\S]*?)^```$/gm,
  )) {
    if (path !== undefined) steps.push({ kind: 'file', path, content: body })
    else if (language === 'sh') steps.push({ kind: 'commands', ...parted(body) })
  }
  return steps
}

function parted(block: string): { readonly once: string; readonly look: string } {
  const lines = block.trimEnd().split('\n')
  const at = lines.findLastIndex((line) => /^sleep \d+$/.test(line))
  const isWait = (line: string): boolean => /^sleep \d+$/.test(line)
  const once = lines.slice(0, at + 1).filter((line) => !isWait(line))
  return at === -1
    ? { once: lines.join('\n'), look: '' }
    : { once: once.join('\n'), look: lines.slice(at + 1).join('\n') }
}

/** Writes a file of a project. */
function writeStep(dir: string, { path, content }: Step & { readonly kind: 'file' }): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true })
  writeFileSync(join(dir, path), content)
}

/** A shell that stays, as a person has one open. */
interface OpenShell {
  /** Runs lines, and gives what they printed on both streams. Throws with that when a command failed. */
  run(lines: string): Promise<string>
  /** Ends it, and all that it began. */
  close(): Promise<void>
}

const END = '--- end of the step'
const FAILED = '--- failed:'

/** Opens a shell in a folder. */
function openShell(cwd: string, env: Readonly<Record<string, string | undefined>>): OpenShell {
  // A group of its own, to be ended as one.
  const child = spawn('bash', ['--noprofile', '--norc'], { cwd, env: { ...env }, detached: true })
  let output = ''
  let heard = Promise.withResolvers<void>()
  const ended = new Promise<void>((done) => child.on('close', () => done()))
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      heard.resolve()
    })
  let isOpen = true
  void ended.then(() => {
    isOpen = false
    heard.resolve()
  })
  child.stdin.on('error', () => undefined)
  child.stdin.write(`exec 2>&1\ntrap 'echo "${FAILED} $BASH_COMMAND"' ERR\n`)
  return {
    run: async (lines) => {
      output = ''
      child.stdin.write(`${lines}\necho "${END}"\n`)
      while (isOpen && !output.includes(`${END}\n`)) {
        heard = Promise.withResolvers()
        if (!output.includes(`${END}\n`)) await heard.promise
      }
      const said = output.split(END, 1)[0] ?? ''
      // Whoever waits for what he ended is told how it ended.
      const hasFailed = said
        .split('\n')
        .some((line) => line.startsWith(FAILED) && !/failed: wait /.test(line))
      if (!isOpen || hasFailed) throw new Error(`in ${lines}\n${output}`)
      return said
    },
    close: async () => {
      if (isOpen && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      child.stdin.end()
      await ended
    },
  }
}

const tutorials = suite('e2e/plugin-tutorials', { limitMs: 600_000 })
const PUBLISHED = ['contracts', 'plugin-kit', 'testkit'] as const

let folder = ''
let registry: Registry
tutorials.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-outside-'))
  registry = await startRegistry(join(folder, 'registry'))
  packInto('packed')
})
tutorials.after(async () => {
  await registry.close()
  rmSync(folder, { recursive: true, force: true })
})

function packInto(name: string): void {
  const script = join(ROOT, 'scripts/builds/pack.mjs')
  execFileSync(process.execPath, [script, 'npm', '--out', join(folder, name)], { stdio: 'pipe' })
}

/** A shell that has this build's command, npm with that registry, and nothing else of this workspace. */
function shellIn(name: string): OpenShell {
  const home = join(folder, name)
  const bin = join(home, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'svc'), `#!/bin/sh\nexec "${process.execPath}" --no-warnings "${MAIN}" "$@"\n`)
  chmodSync(join(bin, 'svc'), 0o755)
  const { NODE_OPTIONS, JITTER_SEED } = process.env
  return openShell(home, {
    NODE_OPTIONS,
    JITTER_SEED,
    HOME: home,
    NO_COLOR: '1',
    PACKAGES: join(folder, 'packed'),
    PATH: [bin, dirname(process.execPath), process.env.PATH].join(':'),
    ...registry.env,
  })
}

/** Does what a page says; `expected` has what each block of commands must print in the end. */
async function follow(
  page: string,
  project: string,
  ports: Readonly<Record<string, number>>,
  expected: readonly (readonly (string | RegExp)[])[],
  atTheEnd: (shell: OpenShell) => Promise<void>,
): Promise<void> {
  const replace = (text: string): string =>
    Object.entries(ports)
      .reduce((all, [from, to]) => all.replaceAll(from, String(to)), text)
      // As the page says for a copy of the repository.
      .replace(/^svc plugin new .*$/m, '$& --packages "$PACKAGES"')
  const steps = stepsOfTutorial(page, replace)
  const shell = shellIn(page.replace('.md', ''))
  const dir = join(folder, page.replace('.md', ''), project)
  try {
    const blocks = steps.filter(({ kind }) => kind === 'commands')
    assert.is(blocks.length, expected.length, 'each block of commands has its outcome here')
    for (const step of steps) {
      if (step.kind === 'file') {
        writeStep(dir, step)
        continue
      }
      const at = blocks.indexOf(step)
      if (at === blocks.length - 1) await atTheEnd(shell)
      const said = await shell.run(step.once)
      if (step.look === '') agrees(said, expected[at])
      else await eventually(async () => agrees(await shell.run(step.look), expected[at]))
    }
    holdsNoPathOf(dir)
  } finally {
    await shell.close()
  }
}

function agrees(said: string, expected: readonly (string | RegExp)[] = []): void {
  for (const text of expected) assert.match(said, text)
}

/** A project can be put anywhere. */
function holdsNoPathOf(dir: string): void {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !/node_modules|vendor/.test(entry.parentPath) && !/\.tgz$/.test(entry.name),
  )
  assert.ok(files.length > 5)
  for (const { parentPath, name } of files) {
    const text = readFileSync(join(parentPath, name), 'utf8')
    assert.not.ok(text.includes(ROOT) || text.includes(folder), `${name} holds a path of this machine`)
  }
}

tutorials('has packages that are the same twice and ask for nothing that is not published', async () => {
  packInto('again')
  for (const name of readdirSync(join(folder, 'packed'))) {
    const read = (from: string): Buffer => readFileSync(join(folder, from, name))
    assert.ok(read('packed').equals(read('again')), `${name} differs from run to run`)
    // The sums of all.
    if (!name.endsWith('.tgz')) continue
    const packed = (...args: readonly string[]): string =>
      execFileSync(
        'tar',
        [...args, join(folder, 'packed', name)].concat(args[0] === '-xzOf' ? ['package/package.json'] : []),
        {
          encoding: 'utf8',
        },
      )
    const manifest = JSON.parse(packed('-xzOf'))
    assert.is(manifest.private, undefined)
    assert.is(manifest.license, 'Apache-2.0')
    const ours = Object.entries(manifest.dependencies ?? {}).filter(([one]) => one.startsWith('@steeple/'))
    for (const [one, version] of ours)
      assert.ok(PUBLISHED.some((short) => one === `@steeple/${short}`) && version === manifest.version, one)
    const files = packed('-tzf').split('\n')
    for (const needed of ['package/README.md', 'package/LICENSE', 'package/dist/index.d.ts'])
      assert.ok(files.includes(needed), `${name} lacks ${needed}`)
    assert.not.ok(
      files.some((file) => /\.map$|\/src\/|\/test\//.test(file)),
      `${name} holds sources`,
    )
  }
})

tutorials(
  'for a core driver holds, command by command, and the box takes no other package than it says',
  async () => {
    const ports = { 8080: await unusedPort(), 9400: await unusedPort() }
    await follow('core-driver.md', 'my-core', ports, CORE, refusesOthers)
  },
)

tutorials('for an HSS driver holds, command by command', async () => {
  const ports = { 8080: await unusedPort(), 9500: await unusedPort() }
  await follow('hss-driver.md', 'my-hss', ports, HSS, async () => undefined)
})

/** The driver's own suite, and as many wrong drivers as there are, each found. */
const WRONG_ALL_FOUND = /by wrong drivers[ •]+\((\d+) \/ \1\)/

/** What the blocks of commands of the page come to. */
const CORE = [
  ['Next, with Node 24', /added \d+ packages/],
  [],
  [/Total: +17\n +Passed: +17\n/, /Total: +2\n +Passed: +2\n/, WRONG_ALL_FOUND],
  [/plugins: \{trust: \["ed25519:[\w-]{43} me"\]\}/, /my-core-0\.1\.0\.tgz\n/, 'signed with the key'],
  [/^node_id +\S/m],
  [/^error +it needs core to be my_core, which is core_a$/m, /^signed_by +me \([0-9a-f-]{19}\)$/m],
  [/^my-core +0\.1\.0 +core +running +ok/m, 'network.json'],
  [/^core +my_core$/m, /^state +in_sync$/m],
  [/\\"video\\"/],
  [/^ue\.attached +1$/m],
  [/^\[\]$/m],
  [],
]

const HSS = [
  ['Next, with Node 24', /added \d+ packages/],
  [/Total: +35\n +Passed: +35\n/, WRONG_ALL_FOUND],
  [/^error +it needs hss\.driver to be my_hss/m, /^signed_by +me \([0-9a-f-]{19}\)$/m],
  [/^token +store$/m],
  ['"subscribers":5', /(synced[\s\S]*){5}/],
  ['"subscribers":5'],
  [],
]

/** Beside the tutorial, on its box. */
async function refusesOthers(shell: OpenShell): Promise<void> {
  const refused = async (lines: string, why: string | RegExp): Promise<void> =>
    assert.match(await shell.run(`(${lines}) || echo "refused"`), why)
  await shell.run('svc plugin key ../other.key --name other 2> /dev/null')
  await shell.run(`sed -i 's/"version": "0.1.0"/"version": "0.1.1"/' ../my-core/package.json`)
  await shell.run('svc plugin pack ../my-core --unsigned --out .')
  await refused('svc plugin load my-core-0.1.1.tgz', /it is not signed[\s\S]*refused/)
  await refused('svc plugin load ../my-core --config control.yaml', /it is not signed[\s\S]*refused/)
  await shell.run('svc plugin pack ../my-core --key ../other.key --out .')
  await refused('svc plugin load my-core-0.1.1.tgz', /which is not in plugins\.trust[\s\S]*refused/)
  await shell.run('svc plugin pack ../my-core --key ../plugins.key --out .')
  await shell.run('mkdir t && tar -xzf my-core-0.1.1.tgz -C t && echo "// more" >> t/package/plugin.js')
  await shell.run('tar -czf changed.tgz -C t package')
  await refused('svc plugin load changed.tgz', /not what was signed; look at plugin\.js[\s\S]*refused/)
  assert.not.match(await shell.run('ls data/plugins'), '0.1.1')
  assert.match(await shell.run('svc plugin load my-core-0.1.1.tgz'), /^version +0\.1\.1$/m)
  await refused('svc plugin load ../my-core/my-core-0.1.0.tgz', /asked for as a rollback[\s\S]*refused/)
  const said = await shell.run('svc audit list --json')
  assert.match(said, /"signed_by": "me \([0-9a-f-]{19}\)"/)
  // Whoever loses trust is not loaded again, and what runs says so.
  await shell.run(`sed -i 's/^plugins: .*/plugins: {trust: []}/' control.yaml; kill -HUP $SERVICE`)
  await eventually(async () =>
    assert.match(await shell.run('svc plugin list'), 'which is not in plugins.trust'),
  )
  await refused('svc plugin reload my-core', /which is not in plugins\.trust[\s\S]*refused/)
  assert.match(await shell.run('svc plugin list'), /^my-core +0\.1\.1 +core +running/m)
}

tutorials.run()
