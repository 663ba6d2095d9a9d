import { execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assert, enterOwnMounts, eventually, listen, runTool, stretched, suite } from '@steeple/testkit'
import { ANY_PORTS, type LabPhone, labPhones } from '../harness/lab-core.ts'
import { type Launched, ROOT, urlOf } from '../harness/launch.ts'
import { childrenOf } from '../harness/open-files.ts'
import { runSvc, startedProcesses } from '../harness/service.ts'

enterOwnMounts(import.meta.filename)
// A configuration of this machine would win over the one beside the data, and be written to.
if (existsSync('/etc/svc')) runTool('mount', '-t', 'tmpfs', 'none', '/etc/svc')

/** Command lines of running processes that name that text. */
function processesWith(text: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
      } catch {
        return ''
      }
    })
    .filter((line) => line.includes(text))
}

const ADMIN = 'first-start-admin-token-0123456789abcdef'
const STOP_LIMIT_MS = 3_000
const SECOND_START_LIMIT_MS = 2_000
const SCRIPT = join(ROOT, 'scripts/run.mjs')
/** As `npm start` has it, the lab core where there is room. */
const AS_ROOT_COMMAND = {
  script: SCRIPT,
  hasOwnGroup: true,
  env: { SVC_ADMIN_TOKEN: ADMIN, LAB_CORE_FLAGS: ANY_PORTS.join(' ') },
}
const TOKEN = /svc_[A-Za-z0-9_-]{20,}/g

const first = suite('e2e/first-start')
const started = startedProcesses()
let dir: string

first.before.each(() => {
  dir = mkdtempSync(join(tmpdir(), 'steeple-first-'))
})
first.after.each(() => {
  started.endAll()
  rmSync(dir, { recursive: true, force: true })
})

function flags(dataDir: string, listen = '127.0.0.1:0'): readonly string[] {
  return ['--first-start', '--data-dir', dataDir, '--listen', listen]
}

/** The introduction, once it is printed whole. */
async function introduced(run: Launched): Promise<string> {
  await urlOf(run)
  await eventually(async () => run.stdout().includes('Ctrl-C ends it.'))
  return run.stdout()
}

async function ended(run: Launched, signal: NodeJS.Signals, code = 0): Promise<void> {
  const begun = performance.now()
  run.child.kill(signal)
  assert.is(await run.exited, code, run.stdout() + run.stderr())
  assert.ok(performance.now() - begun < stretched(STOP_LIMIT_MS))
}

/** A command that cannot start says why in one line, with its code, and nothing else. */
async function refuses(
  args: readonly string[],
  reason: RegExp,
  env: Record<string, string> = {},
): Promise<void> {
  const { code, stdout, stderr } = await runSvc(args, env)
  assert.is(code, 1, stdout + stderr)
  assert.match(stderr, reason)
  assert.is(stderr.trimEnd().split('\n').length, 1, stderr)
  assert.not.match(stdout + stderr, /\n\s+at |node:internal/)
}

first(
  'introduces itself with a token and three curl lines that work, and never shows the token again',
  async () => {
    const run = started.launch(flags(dir))
    const text = await introduced(run)
    // Its output is kept: the token goes where its owner alone can read it.
    assert.not.match(text, TOKEN)
    const file = join(dir, 'first-token')
    assert.is(statSync(file).mode & 0o777, 0o600)
    const tokens = [readFileSync(file, 'utf8').trim()]
    assert.match(tokens[0] ?? '', /^svc_[A-Za-z0-9_-]{20,}$/)
    assert.match(text, /^ {2}API +http:\/\/\S+\/v1\/docs$/m)
    assert.match(text, /^ {2}documentation +http:\/\/\S+:\d+\/docs$/m)
    const exported = /^ +(export SVC_TOKEN=.+)$/m.exec(text)?.[1] ?? ''
    const curls = text.split('\n').filter((line) => line.startsWith('  curl '))
    assert.is(curls.length, 3)
    // The status is 503 until the first reconcile pass is over, which nobody who copies a line by hand gets to see.
    const headers = { authorization: `Bearer ${tokens[0]}` }
    const url = await urlOf(run)
    await eventually(async () => (await fetch(`${url}/v1/status`, { headers })).status === 200)
    for (const curl of curls) {
      const { stdout } = await promisify(execFile)('bash', ['-ec', `${exported}\n${curl} --fail-with-body`])
      assert.not.ok('error' in JSON.parse(stdout), stdout)
    }
    assert.is((await fetch(/documentation +(\S+)/.exec(text)?.[1] ?? '')).status, 200)
    await ended(run, 'SIGINT')
    assert.not.ok(run.stdout().includes(tokens[0] ?? '?'), 'the log has the token')

    const again = started.launch(flags(dir))
    const second = await introduced(again)
    assert.not.ok(second.includes(tokens[0] ?? '?'))
    assert.not.match(second, TOKEN)
    assert.match(second, /Authenticate with a token made before: +export SVC_TOKEN=/)
    await ended(again, 'SIGTERM')

    const withVariable = started.launch(flags(dir), { env: { SVC_ADMIN_TOKEN: ADMIN } })
    const third = await introduced(withVariable)
    assert.match(third, /bearer token in SVC_ADMIN_TOKEN/)
    assert.not.ok(third.includes(ADMIN))
    await ended(withVariable, 'SIGTERM')
  },
)

first('keeps keys to itself and refuses keys that others can read, with the chmod to run', async () => {
  const run = started.launch(flags(dir))
  await introduced(run)
  const keys = join(dir, 'keys')
  assert.is(statSync(keys).mode & 0o777, 0o700)
  for (const name of readdirSync(keys)) assert.is(statSync(join(keys, name)).mode & 0o777, 0o600, name)
  assert.is(statSync(join(dir, 'svc.db')).mode & 0o077, 0)
  await ended(run, 'SIGTERM')
  chmodSync(keys, 0o755)
  await refuses(flags(dir), new RegExp(`run: chmod 700 ${keys}\n$`))
  chmodSync(keys, 0o700)
  const key = join(keys, 'mesh-ca.key')
  chmodSync(key, 0o644)
  await refuses(flags(dir), new RegExp(`run: chmod 600 ${key}\n$`))
})

first(
  'refuses a second service on the same data, a busy port, a bad configuration and a folder it cannot write',
  async () => {
    const run = started.launch(flags(dir))
    const { port } = new URL(await urlOf(run))
    await refuses(flags(dir), /^data_dir_in_use: .*--data-dir/)
    const other = join(dir, 'other')
    await refuses(flags(other, `127.0.0.1:${port}`), new RegExp(`:${port}`))
    const file = join(dir, 'bad.yaml')
    writeFileSync(file, 'server:\n  log_level: loud\n')
    await refuses([...flags(other), '--config', file], /bad\.yaml:2:\d+.*log_level/)
    await refuses(flags('/sys/steeple'), /\/sys\/steeple/)
    writeFileSync(join(dir, 'a-file'), '')
    await refuses(flags(join(dir, 'a-file')), /a-file/)
    await ended(run, 'SIGTERM')
  },
)

first(
  'ends cleanly within 3 s under an open stream and an open request, however often it is told to',
  async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const run = started.launch(flags(dir), { env: { SVC_ADMIN_TOKEN: ADMIN } })
      const url = await urlOf(run)
      const stop = await openWork(url)
      const begun = performance.now()
      run.child.kill(signal)
      run.child.kill(signal)
      setTimeout(() => run.child.kill(signal), 50)
      assert.is(await run.exited, 0, run.stdout() + run.stderr())
      const ms = performance.now() - begun
      stop()
      process.stdout.write(`# ${signal} twice: over after ${Math.round(ms)} ms\n`)
      assert.ok(ms < stretched(STOP_LIMIT_MS), `${ms} ms`)
    }
  },
)

first('starts again within 2 s through the root command and ends with its whole process group', async () => {
  const warm = started.launch(['start', ...flags(dir)], AS_ROOT_COMMAND)
  // The first one may have to build.
  await eventually(async () => warm.stdout().includes('"listening"') || warm.child.exitCode !== null)
  assert.is(warm.child.exitCode, null, warm.stdout() + warm.stderr())
  process.kill(-(warm.child.pid ?? 0), 'SIGTERM')
  assert.is(await warm.exited, 0, warm.stdout() + warm.stderr())
  const begun = performance.now()
  const run = started.launch(['start', ...flags(dir)], AS_ROOT_COMMAND)
  const url = await urlOf(run)
  await eventually(async () => (await fetch(`${url}/v1/healthz`)).status === 200)
  const startMs = performance.now() - begun
  const lab = labUrlIn(await introduced(run))
  assert.is((await fetch(`${lab}/phones`)).status, 200)
  const stop = await openWork(url)
  const stopBegun = performance.now()
  // As a terminal does at Ctrl-C.
  process.kill(-(run.child.pid ?? 0), 'SIGINT')
  assert.is(await run.exited, 0, run.stdout() + run.stderr())
  const stopMs = performance.now() - stopBegun
  stop()
  process.stdout.write(
    `# second start through run.mjs: healthy after ${Math.round(startMs)} ms, over ${Math.round(stopMs)} ms after SIGINT\n`,
  )
  assert.ok(startMs < stretched(SECOND_START_LIMIT_MS), `${startMs} ms`)
  assert.ok(stopMs < stretched(STOP_LIMIT_MS), `${stopMs} ms`)
  assert.ok(await isGone(lab), 'the lab core outlived the service')
})

first(
  'shows the whole main job in the first minutes: a SIM is issued, attaches, moves data, is suspended and drops',
  async () => {
    const run = started.launch(['start', ...flags(dir)], AS_ROOT_COMMAND)
    await eventually(async () => run.stdout().includes('Ctrl-C ends it.') || run.child.exitCode !== null)
    const text = await introduced(run)
    const url = await urlOf(run)
    const lab = labUrlIn(text)
    const lines = text.split('\n').filter((line) => /^ {2}(BATCH=|npm run )/.test(line))
    assert.is(lines.length, 2, text)
    const printed = await promisify(execFile)('bash', ['-ec', lines.join('\n')], {
      cwd: ROOT,
      env: { ...process.env, SVC_ADMIN_TOKEN: ADMIN, LAB_CORE_URL: lab },
    })
    assert.match(printed.stdout, / (connected +10\.45\.|attaching )/)
    const [phone] = await labPhones(lab)
    const sim = `${url}/v1/sims/${phone?.phone}`
    const ask = async (path: string, method: 'GET' | 'POST' = 'POST') => {
      const init = { method, headers: { authorization: `Bearer ${ADMIN}` } }
      return (await (await fetch(sim + path, init)).json()) as { state: string; detached?: string }
    }
    const act = async (action: string, body = ''): Promise<LabPhone | undefined> =>
      (await labPhones(lab, 'POST', `/phones/${phone?.phone}/${action}`, body))[0]
    // A phone that was quicker than the write-back tries again by itself within half a minute.
    await eventually(async () => (await labPhones(lab))[0]?.state === 'connected')
    await eventually(async () => (await ask('', 'GET')).state === 'in-use')
    const moved = await act('data', '{"up_bytes": 1000, "down_bytes": 50000}')
    assert.equal([moved?.up_bytes, moved?.down_bytes], [1_000, 50_000])
    const suspended = await ask('/suspend?wait=30s')
    assert.equal([suspended.state, suspended.detached], ['suspended', 'yes'])
    assert.is((await labPhones(lab))[0]?.ipv4, null)
    assert.is((await ask('/resume')).state, 'in-use')
    await eventually(async () => (await act('attach'))?.state === 'connected')
    assert.is((await ask('/revoke?wait=30s')).state, 'revoked')
    assert.is((await labPhones(lab))[0]?.ipv4, null)
    const doctor = started.launch(['svc', 'doctor', '--data-dir', dir], AS_ROOT_COMMAND)
    await doctor.exited
    assert.match(doctor.stdout(), /^ok +hss .*open5gs-dbctl/m, 'the doctor sees what runs')
    assert.not.match(doctor.stdout(), /engine|container/)
    process.kill(-(run.child.pid ?? 0), 'SIGINT')
    assert.is(await run.exited, 0, run.stdout() + run.stderr())
    assert.not.match(run.stdout() + run.stderr(), /\b99999\d{10}\b/, 'an IMSI was printed')
  },
)

first(
  'keeps what is set in the console in a file beside the data, starts again what was ended, has no lab core when told to',
  async () => {
    const authorization = `Bearer ${ADMIN}`
    const run = started.launch(['start', '--no-lab', ...flags(dir)], AS_ROOT_COMMAND)
    const countryAt = async (url: string): Promise<unknown> =>
      (
        (await (await fetch(`${url}/v1/status`, { headers: { authorization } })).json()) as {
          country: unknown
        }
      ).country
    assert.not.match(await introduced(run), /lab core/)
    const url = await urlOf(run)
    const set = await fetch(`${url}/v1/settings`, {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ settings: { 'server.country': 'DE', 'plmn.mcc': '262', 'plmn.mnc': '98' } }),
    })
    const answer = await set.text()
    assert.is(set.status, 200, answer)
    assert.is(JSON.parse(answer).file, join(dir, 'control.yaml'))
    await eventually(async () => (await countryAt(url)) === 'DE')
    assert.match(readFileSync(join(dir, 'control.yaml'), 'utf8'), /^server:\n +country: DE$/m)
    const [command = 0] = childrenOf(run.child.pid ?? 0)
    const [serving = 0, ...more] = childrenOf(command)
    assert.ok(serving > 0 && more.length === 0)
    process.kill(serving, 'SIGKILL')
    await eventually(async () => run.stdout().split('"listening"').length === 3)
    assert.match(run.stderr(), /^steeple: the service was ended \(SIGKILL\); it starts again$/m)
    process.kill(-(run.child.pid ?? 0), 'SIGINT')
    assert.is(await run.exited, 0, run.stdout() + run.stderr())
    const withLab = started.launch(['start', ...flags(dir)], AS_ROOT_COMMAND)
    await introduced(withLab)
    const urlWithLab = await urlOf(withLab)
    await eventually(async () => (await countryAt(urlWithLab)) === 'DE')
    assert.is(processesWith(`--dir ${dir}/lab-core --plmn 26298 `).length, 1, processesWith(dir).join('\n'))
    process.kill(-(withLab.child.pid ?? 0), 'SIGINT')
    assert.is(await withLab.exited, 0, withLab.stdout() + withLab.stderr())
  },
)

first('starts without a lab core when its address is taken, and says so in one line', async () => {
  const taken = await listen(createServer())
  const env = { ...AS_ROOT_COMMAND.env, LAB_CORE_FLAGS: `--mme 127.0.0.1:${taken.port}` }
  const without = started.launch(['start', ...flags(dir)], { ...AS_ROOT_COMMAND, env })
  assert.not.match(await introduced(without), /lab core/)
  assert.match(without.stderr(), /^steeple: no lab core \(.*EADDRINUSE.*\); the service starts without$/m)
  await ended(without, 'SIGTERM')
  await taken.close()
})

first('uses the data directory that a configuration names, not the default one', async () => {
  const config = join(dir, 'svc.yaml')
  writeFileSync(config, `server: {data_dir: ${join(dir, 'own')}, listen: 127.0.0.1:0}\nhss: {driver: none}\n`)
  const run = started.launch(['start', '--config', config], AS_ROOT_COMMAND)
  assert.match(await introduced(run), new RegExp(`${join(dir, 'own')}`))
  assert.ok(readdirSync(join(dir, 'own')).includes('svc.db'))
  await ended(run, 'SIGTERM')
  const flag = ['--data-dir', join(dir, 'flag')]
  const other = started.launch(['start', '--config', config, ...flag], AS_ROOT_COMMAND)
  assert.match(await introduced(other), new RegExp(`${join(dir, 'flag')}`), 'what is said at the start holds')
  await ended(other, 'SIGTERM')
})

/** Where the introduction says that the phones are. */
function labUrlIn(text: string): string {
  const url = /^ {2}lab core +(http:\S+)/m.exec(text)?.[1]
  if (url === undefined) throw new Error(`no lab core in:\n${text}`)
  return url
}

async function isGone(url: string): Promise<boolean> {
  return await fetch(url).then(
    () => false,
    () => true,
  )
}

first(
  'reloads at SIGHUP, names what needs a restart, and keeps the old configuration over a broken one',
  async () => {
    const file = join(dir, 'control.yaml')
    writeFileSync(file, 'server:\n  log_level: info\n')
    const run = started.launch([...flags(dir), '--config', file], { env: { SVC_ADMIN_TOKEN: ADMIN } })
    const url = await urlOf(run)
    await eventually(async () => run.stdout().includes('Ctrl-C ends it.'))
    const logged = (text: string) => eventually(async () => run.stdout().includes(text))
    writeFileSync(file, 'server:\n  log_level: warn\n  log_format: console\n')
    run.child.kill('SIGHUP')
    await logged('"changed keys need a restart"')
    assert.match(run.stdout(), /"keys":\["server\.log_format"\]/)
    await eventually(async () => {
      const before = run.stdout().length
      await fetch(`${url}/v1/version`)
      await new Promise((resolve) => setTimeout(resolve, 400))
      return !run.stdout().slice(before).includes('"msg":"request"')
    })
    writeFileSync(file, 'server:\n  log_level: info\n  nonsense: 1\n')
    run.child.kill('SIGHUP')
    await logged('"the configuration was not reloaded; the old one stays in force"')
    assert.match(run.stdout(), /control\.yaml:3:\d+/)
    assert.is((await fetch(`${url}/v1/healthz`)).status, 200)
    writeFileSync(file, 'server:\n  log_level: info\n')
    run.child.kill('SIGHUP')
    await eventually(async () => {
      await fetch(`${url}/v1/version`, { headers: { 'x-request-id': 'after-reload' } })
      return run.stdout().includes('after-reload')
    })
    await ended(run, 'SIGTERM')
  },
)

first('prints version and help and refuses what it does not know', async () => {
  const version = await runSvc(['--version'])
  assert.is(version.code, 0)
  assert.match(version.stdout, /^\d+\.\d+\.\d+\S*\n$/)
  const help = await runSvc(['--help'])
  assert.is(help.code, 0)
  for (const flag of ['--config', '--data-dir', '--listen', '--log-level', '--version'])
    assert.ok(help.stdout.includes(flag), flag)
  const unknown = await runSvc(['--nonsense'])
  assert.is(unknown.code, 2)
  assert.is(unknown.stderr.trimEnd().split('\n').length, 1, unknown.stderr)
})

/** An event stream and a request whose body never ends, both under way. Gives what breaks them off. */
async function openWork(url: string): Promise<() => void> {
  const gone = new AbortController()
  const headers = { authorization: `Bearer ${ADMIN}` }
  const stream = await fetch(`${url}/v1/events`, { headers, signal: gone.signal })
  assert.is(stream.status, 200)
  const endless = new ReadableStream({ start: (to) => to.enqueue(new TextEncoder().encode('{"name":')) })
  void fetch(`${url}/v1/tokens`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: endless,
    duplex: 'half',
    signal: gone.signal,
  } as RequestInit).catch(() => undefined)
  await new Promise((resolve) => setTimeout(resolve, 50))
  return () => gone.abort()
}

first('ends with its lab core when the terminal is closed, and shows the token on a terminal', async () => {
  const command = `${process.execPath} ${SCRIPT} start --data-dir ${dir} --listen 127.0.0.1:0`
  // `script` is the terminal; it is killed as a window is closed, without a word to who runs in it.
  const terminal = spawn('script', ['-qfec', command, '/dev/null'], {
    env: { ...process.env, LAB_CORE_FLAGS: ANY_PORTS.join(' '), SVC_ADMIN_TOKEN: '' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let text = ''
  terminal.stdout.on('data', (chunk) => {
    text += chunk
  })
  try {
    await eventually(async () => text.includes('Ctrl-C ends it.'))
    assert.match(text, /export SVC_TOKEN=svc_[A-Za-z0-9_-]{20,}/)
    assert.ok(processesWith(dir).length >= 2, processesWith(dir).join('\n'))
  } finally {
    terminal.kill('SIGKILL')
  }
  await eventually(async () => processesWith(dir).length === 0)
})

first.run()
