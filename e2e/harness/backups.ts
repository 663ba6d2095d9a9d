import { assert, eventually } from '@steeple/testkit'
import { type Answer, ask, done, runSvc, type Service, type StartOptions, startService } from './service.ts'

/** A passphrase as it goes in a header. */
export const WORDS: Readonly<Record<string, string>> = { 'x-backup-passphrase': 'twelve letters and more' }

/** A backup of the service; with keys when the headers hold a passphrase. */
export async function takeBackup(
  service: Service,
  headers: Readonly<Record<string, string>> = WORDS,
): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(`${service.url}/v1/backup`, {
    headers: { authorization: `Bearer ${service.adminToken}`, ...headers },
  })
  if (response.status !== 200) throw new Error(`no backup: ${response.status} ${await response.text()}`)
  return new Uint8Array(await response.arrayBuffer())
}

/** Sends a backup to be restored, and gives the answer. */
export async function sendBackup(
  service: Service,
  file: Uint8Array<ArrayBuffer>,
  query = '',
  headers: Readonly<Record<string, string>> = WORDS,
): Promise<Answer> {
  const response = await fetch(`${service.url}/v1/restore${query}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.adminToken}`,
      'content-type': 'application/octet-stream',
      ...headers,
    },
    body: file,
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

/** Restores a backup, and gives the service as it serves afterwards, on another port. Throws when it is refused. */
export async function restoreBackup(
  service: Service,
  file: Uint8Array<ArrayBuffer>,
  query = '',
  headers: Readonly<Record<string, string>> = WORDS,
): Promise<Service> {
  const before = service.output().length
  const { status, body } = await sendBackup(service, file, query, headers)
  if (status !== 200) throw new Error(`not restored: ${status} ${JSON.stringify(body)}`)
  const urlNow = (): string | undefined => /"url":"(http[^"]+)"/.exec(service.output().slice(before))?.[1]
  await eventually(async () => (await fetch(`${urlNow() ?? ''}/v1/healthz`)).status === 200)
  const url = urlNow() ?? ''
  const request: Service['request'] = (method, path, options = {}) =>
    ask(url, method, path, { token: service.adminToken, ...options })
  return { ...service, url, request }
}

/** A service without a core, for what is about its state alone. */
export function bareService(options: StartOptions = {}): Promise<Service> {
  return startService({ ...options, env: { SVC_HSS_DRIVER: 'none', ...options.env } })
}

/** So many SIMs more. */
export async function issueSims(service: Pick<Service, 'request'>, count: number): Promise<void> {
  await done(service, 'POST', '/v1/sims', { count })
}

/** The hash chain of the store holds, as the command finds it. */
export async function verifyAudit(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { code, stdout, stderr } = await runSvc(['audit', 'verify', '--data-dir', dataDir], env)
  assert.is(code, 0, stdout + stderr)
}

export async function simsOf(service: Pick<Service, 'request'>): Promise<number> {
  const { status, body } = await service.request('GET', '/v1/sims?limit=500')
  if (status !== 200) throw new Error(`GET /v1/sims answered ${status}`)
  return body.sims.length
}
