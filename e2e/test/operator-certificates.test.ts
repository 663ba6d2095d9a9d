import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assert, suite } from '@steeple/testkit'
import { urlOf } from '../harness/launch.ts'
import { runSvc, startedProcesses } from '../harness/service.ts'

const operators = suite('e2e/operator-certificates', { limitMs: 600_000 })
const ADMIN = 'operator-test-admin-token-0123456789'
const started = startedProcesses()
const run = promisify(execFile)

let root: string
let url: string
let ca: string

operators.before(async () => {
  root = mkdtempSync(join(tmpdir(), 'steeple-operators-'))
  const dataDir = join(root, 'data')
  const process = started.launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
    env: { SVC_ADMIN_TOKEN: ADMIN, SVC_TLS_ENABLED: 'true' },
  })
  url = await urlOf(process)
  ca = join(dataDir, 'keys', 'mesh-ca.pem')
})
operators.after(() => {
  started.endAll()
  rmSync(root, { recursive: true, force: true })
})

type Environment = Readonly<Record<string, string>>

/** What a command printed as JSON. */
async function told(args: readonly string[], env: Environment): Promise<Readonly<Record<string, unknown>>> {
  const { code, stdout, stderr } = await runSvc([...args, '--json'], { SVC_URL: url, ...env })
  assert.is(code, 0, `${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout)
}

/** The code with which a command failed. */
async function fault(args: readonly string[], env: Environment): Promise<string> {
  const { code, stderr } = await runSvc([...args, '--json'], { SVC_URL: url, ...env })
  assert.is(code, 1, stderr)
  const { error } = JSON.parse(stderr) as { readonly error: { readonly code: string } }
  return error.code
}

const byToken = (home: string): Environment => ({ SVC_TOKEN: ADMIN, SVC_CA: ca, HOME: home })

/** An account of the machine, with a home of its own. */
function account(name: string): { readonly home: string; readonly env: Environment } {
  const home = join(root, name)
  return { home, env: { HOME: home } }
}

operators('speak for a user over TLS, without a token, by the CA of the box alone', async () => {
  const { home, env } = account('zoe')
  await told(['user', 'add', 'zoe', '--role', 'admin'], byToken(home))
  const made = await told(['user', 'cert', 'zoe', '--use', '--label', 'laptop'], byToken(home))
  for (const file of ['cert_file', 'key_file', 'ca_file'])
    assert.is(statSync(String(made[file])).mode & 0o777, 0o600, file)
  assert.is(statSync(join(home, '.config', 'svc')).mode & 0o777, 0o700)
  const users = await told(['user', 'list'], env)
  assert.equal(
    (users.users as readonly { readonly name: string }[]).map(({ name }) => name),
    ['zoe'],
  )
  const minted = await told(['token', 'create', 'by-zoe', '--role', 'viewer'], env)
  const audit = await told(['audit', 'list', '--target', String(minted.id)], env)
  const [entry] = audit.entries as readonly { readonly principal: Readonly<Record<string, string>> }[]
  assert.equal([entry?.principal.kind, entry?.principal.name], ['cli', 'zoe'])
})

operators('lose what their user loses with the next command', async () => {
  const { home, env } = account('ivo')
  await told(['user', 'add', 'ivo', '--role', 'operator'], byToken(home))
  const { serial } = await told(['user', 'cert', 'ivo', '--use'], byToken(home))
  await told(['audit', 'list'], env)
  assert.is(await fault(['user', 'list'], env), 'forbidden')
  await told(['user', 'roles', 'ivo', 'viewer'], byToken(home))
  assert.is(await fault(['audit', 'list'], env), 'forbidden')
  await told(['status'], env)
  await told(['user', 'uncert', 'ivo', String(serial)], byToken(home))
  assert.is(await fault(['status'], env), 'certificate_revoked')
  await told(['user', 'cert', 'ivo', '--use'], byToken(home))
  await told(['status'], env)
  await told(['user', 'remove', 'ivo'], byToken(home))
  assert.is(await fault(['status'], env), 'certificate_revoked')
})

operators('come in an archive that other programs open with its passphrase', async () => {
  const { home } = account('ann')
  await told(['user', 'add', 'ann', '--role', 'viewer'], byToken(home))
  const made = await told(['user', 'cert', 'ann', '--p12', '--out', home], byToken(home))
  const archive = String(made.p12_file)
  assert.is(statSync(archive).mode & 0o777, 0o600)
  const passphrase = String(made.passphrase)
  const ask = async (word: string): Promise<string> => {
    const cert = ['--cert-type', 'P12', '--cert', `${archive}:${word}`]
    const args = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--cacert', ca, ...cert, `${url}/v1/status`]
    return run('curl', args).then(
      ({ stdout }) => stdout,
      (error: { readonly code?: unknown }) => `curl ends with ${String(error.code)}`,
    )
  }
  assert.is(await ask(passphrase), '200')
  // 58: a problem with the local certificate.
  assert.is(await ask('wrong'), 'curl ends with 58')
  assert.not.match(readFileSync(archive, 'latin1'), /PRIVATE KEY/)
})

operators('take no other box for theirs', async () => {
  const { home, env } = account('bob')
  await told(['user', 'add', 'bob', '--role', 'viewer'], byToken(home))
  await told(['user', 'cert', 'bob', '--use'], byToken(home))
  const other = started.launch(
    ['--first-start', '--data-dir', join(root, 'other'), '--listen', '127.0.0.1:0'],
    {
      env: { SVC_TLS_ENABLED: 'true' },
    },
  )
  const elsewhere = await urlOf(other)
  assert.is(await fault(['status', '--url', elsewhere], env), 'unreachable')
})

operators.run()
