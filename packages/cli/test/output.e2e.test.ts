import { spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { assert, suite } from '@steeple/testkit'
import { type FakeService, fakeService } from './fake-service.ts'
import { cleanEnv, MAIN, type Run } from './svc.ts'

const output = suite('cli/output')

const ROWS = 3000
const PIPE_BYTES = 65_536

/** A service with more rows than a pipe holds. */
function largeService(): Promise<FakeService> {
  const sims = Array.from({ length: ROWS }, (_, i) => ({
    imsi_sha256_12: i.toString(16).padStart(12, '0'),
    state: 'issued',
    profile: 'default',
    label: `number ${i}`,
  }))
  const entries = sims.map((sim, seq) => ({ seq, action: 'sim.issue', target: sim.imsi_sha256_12 }))
  return fakeService(({ path }) => {
    if (path === '/v1/audit') return { body: { entries, next_cursor: null } }
    return { body: { sims, next_cursor: null } }
  })
}

/** Runs a line of the shell in which `$SVC` is the command. */
async function shell(line: string, service: FakeService): Promise<Run> {
  const child = spawn('bash', ['-o', 'pipefail', '-c', line], {
    env: cleanEnv({
      SVC: `${process.execPath} --no-warnings ${MAIN}`,
      SVC_URL: service.url,
      SVC_TOKEN: 'svc_test',
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, out, err }
}

output('writes everything into a pipe, whatever it is', async () => {
  await using service = await largeService()
  const lines = [
    ['sim list --limit 3000', ROWS + 1],
    ['sim list --limit 3000 --json | grep -c imsi_sha256_12 | xargs seq', ROWS],
    ['audit list --limit 3000 --json | grep -c "\\"seq\\"" | xargs seq', ROWS],
    ['audit list --limit 3000', ROWS + 1],
  ] as const
  for (const [words, count] of lines) {
    const { code, out, err } = await shell(`$SVC ${words} | cat | wc -l`, service)
    assert.equal([code, out.trim(), err], [0, String(count), ''], words)
  }
})

output('waits for a reader that takes its time', async () => {
  await using service = await largeService()
  // One byte a read and a stop in between: the pipe is full most of the time.
  const reader = `${process.execPath} -e "
        let n = 0; process.stdin.on('data', (c) => { n += c.length; process.stdin.pause();
        setTimeout(() => process.stdin.resume(), 20) }); process.stdin.on('end', () => console.log(n))"`
  const { code, out } = await shell(`$SVC sim list --limit 3000 --json | ${reader}`, service)
  assert.is(code, 0)
  assert.ok(Number(out) > 5 * PIPE_BYTES, out)
})

output('says by its exit code alone that the reader went away before the end', async () => {
  await using service = await largeService()
  for (const words of ['sim list --limit 3000', 'audit list --limit 3000 --json', 'completion fish']) {
    const { code, err } = await shell(`$SVC ${words} | true; echo "\${PIPESTATUS[0]}" >&2`, service)
    assert.equal([code, err.trim()], [0, '1'], words)
  }
  const whole = await shell('$SVC sim list --limit 3000 | head -1000000 >/dev/null', service)
  assert.is(whole.code, 0)
})

output('says that standard output could not be written, and why', async () => {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, ['--no-warnings', MAIN, 'completion', 'fish'], {
    env: cleanEnv(),
    stdio: ['ignore', full, 'pipe'],
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [err, code] = await Promise.all([text(child.stderr ?? Readable.from([])), ended])
  assert.is(code, 1)
  assert.match(err, /^svc: standard output cannot be written: ENOSPC/)
  assert.not.match(err, /\n +at /)
})

output.run()
