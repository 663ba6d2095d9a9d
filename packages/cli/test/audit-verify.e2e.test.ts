import { type ChildProcess, spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { assert, suite, tempDir } from '@steeple/testkit'
import { cleanEnv, MAIN, type Run, svc } from './svc.ts'

const verify = suite('cli/audit-verify')
const ADMIN = 'admin-of-this-test-0123456789'
const processes = new Set<ChildProcess>()

verify.after.each(() => {
  for (const child of processes) child.kill('SIGKILL')
  processes.clear()
})

interface Health {
  readonly status: string
  readonly components: readonly { readonly name: string; readonly status: string; readonly detail: string }[]
}

interface Running {
  /** Asks the service and gives the status and the answer. */
  ask<Body>(method: string, path: string, body?: object): Promise<readonly [number, Body]>
  stop(): Promise<void>
}

async function start(dataDir: string): Promise<Running> {
  const flags = ['--data-dir', dataDir, '--listen', '127.0.0.1:0']
  const child = spawn(process.execPath, ['--no-warnings', MAIN, ...flags], {
    env: cleanEnv({ SVC_ADMIN_TOKEN: ADMIN, SVC_HSS_DRIVER: 'none' }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  processes.add(child)
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, url } = JSON.parse(line) as { readonly msg?: string; readonly url?: string }
    if (msg !== 'listening' || url === undefined) continue
    child.stdout.resume()
    return {
      ask: async <Body>(method: string, path: string, body?: object) => {
        const headers = { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' }
        const init = body === undefined ? {} : { body: JSON.stringify(body) }
        const answer = await fetch(url + path, { method, headers, ...init })
        return [answer.status, (await answer.json()) as Body] as const
      },
      stop: async () => {
        child.kill('SIGTERM')
        await ended
      },
    }
  }
  throw new Error('the service ended before it listened')
}

async function mint(service: Running, name: string): Promise<number> {
  return (await service.ask('POST', '/v1/tokens', { name, roles: ['viewer'] }))[0]
}

/** A stopped service's data directory with a few entries in its trail. */
async function used(dataDir: string): Promise<void> {
  await svc(['node', 'init', '--data-dir', dataDir])
  const service = await start(dataDir)
  assert.is(await mint(service, 'before'), 201)
  await service.stop()
}

function raw(dataDir: string, sql: string): void {
  const db = new DatabaseSync(join(dataDir, 'svc.db'))
  try {
    db.exec(sql)
  } finally {
    db.close()
  }
}

function verdict(dataDir: string): Promise<Run> {
  return svc(['audit', 'verify', '--data-dir', dataDir])
}

verify('says what is missing of an erased trail, and the service never calls that store ok', async () => {
  await using folder = await tempDir()
  await used(folder.path)
  assert.match((await verdict(folder.path)).out, /^ok: [1-9]\d* entries, the chain is whole\n$/)
  raw(
    folder.path,
    'drop trigger kernel_audit_delete; drop trigger kernel_audit_head_delete; delete from kernel_audit; delete from kernel_audit_head',
  )
  for (const moment of ['before a start', 'after it']) {
    const { code, out, err } = await verdict(folder.path)
    assert.equal([code, out], [1, ''], moment)
    assert.match(err, /^broken: the head record is missing.*erased.*kernel_audit_delete/, moment)
    const doctor = await svc(['doctor', '--data-dir', folder.path, '--listen', '127.0.0.1:0'])
    assert.match(doctor.out, /^fail {2}store +kernel_audit: the head record is missing/m, moment)
    if (moment === 'after it') return
    const service = await start(folder.path)
    const [, health] = await service.ask<Health>('GET', '/v1/health')
    const store = health.components.find(({ name }) => name === 'store')
    assert.equal([health.status, store?.status], ['down', 'down'])
    assert.match(store?.detail ?? '', /the head record is missing/)
    assert.is(await mint(service, 'after'), 500)
    await service.stop()
  }
})

verify('reports a missing trigger beside a whole chain', async () => {
  await using folder = await tempDir()
  await used(folder.path)
  raw(folder.path, 'drop trigger kernel_audit_update')
  const { code, err } = await verdict(folder.path)
  assert.is(code, 1)
  assert.match(err, /^broken: the trigger kernel_audit_update is missing/)
  const service = await start(folder.path)
  const [, health] = await service.ask<Health>('GET', '/v1/health')
  assert.is(health.status, 'down')
  await service.stop()
})

verify('says of a fresh store beside old keys that its trail is not the first one', async () => {
  await using folder = await tempDir()
  await used(folder.path)
  for (const end of ['', '-wal', '-shm']) await rm(join(folder.path, `svc.db${end}`), { force: true })
  const permitted = await svc(['store', 'new', '--data-dir', folder.path])
  assert.is(permitted.code, 0, permitted.err)
  const service = await start(folder.path)
  assert.is(await mint(service, 'anew'), 201)
  await service.stop()
  const { code, out } = await verdict(folder.path)
  assert.is(code, 0)
  assert.match(out, /^ok: .*\nit began anew at .*; earlier trails of this node: 1\n$/)
})

verify.run()
