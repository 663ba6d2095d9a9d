// Runs the service of this checkout once, and a command of it, so that node finds what it has compiled of them at the next start:
//   node scripts/compiled/warm.mjs
// It says nothing and never fails: without it, a start takes longer and that is all.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const program = join(here, '../../packages/cli/dist/main.js')
const FLAGS = ['--no-warnings', '--expose-internals', '--import', join(here, 'keep.mjs')]
const LISTENING = /"url":"(http:[^"]+)"/
/** A machine that takes longer has more to do than this. */
const LIMIT_MS = 60_000
/** Of this one run alone, whose data is thrown away. */
const TOKEN = 'a-token-of-a-start-that-is-thrown-away'
/** Where nothing listens. */
const NOBODY = 'http://127.0.0.1:1'

const data = mkdtempSync(join(tmpdir(), 'steeple-compiled-'))
try {
  await serviceOnce()
  await ended(start(['sim', 'list', '--url', NOBODY], 'ignore'))
} finally {
  rmSync(data, { recursive: true, force: true })
}

/** A first start on an empty folder, what a watcher and a person ask first, and its end. */
async function serviceOnce() {
  const service = start(['--data-dir', data, '--listen', '127.0.0.1:0', '--first-start'], 'pipe')
  const end = ended(service)
  const url = await Promise.race([addressOf(service), end])
  for (const path of url === undefined ? [] : ['/v1/healthz', '/v1/version', '/v1/sims?limit=1'])
    await fetch(url + path, { headers: { authorization: `Bearer ${TOKEN}` } })
      .then((answer) => answer.text())
      .catch(() => undefined)
  service.kill('SIGTERM')
  await end
}

function start(words, stdout) {
  // Of the caller's own configuration nothing counts here.
  const env = { PATH: process.env.PATH, TMPDIR: data, SVC_HSS_DRIVER: 'none', SVC_ADMIN_TOKEN: TOKEN }
  const options = {
    cwd: data,
    env,
    stdio: ['ignore', stdout, 'ignore'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  }
  return spawn(execPath, [...FLAGS, program, ...words], options)
}

/** Settles with nothing when a program is over, however that came. */
function ended(child) {
  return new Promise((resolve) => {
    child.once('error', () => resolve())
    child.once('exit', () => resolve())
  })
}

function addressOf(service) {
  return new Promise((resolve) => {
    let text = ''
    service.stdout.setEncoding('utf8').on('data', (piece) => {
      text += piece
      const url = LISTENING.exec(text)?.[1]
      if (url !== undefined) resolve(url)
    })
  })
}
