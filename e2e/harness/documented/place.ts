import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '@steeple/testkit'
import type { Service } from '../service.ts'

/** Keys of shown JSON that are other here: no radio is beside this service. */
export const NOT_COMPARED: readonly string[] = ['transmitter']

/** The configuration under which all pages are tried: what they say to turn on. `hook` is where alerts go. */
export function configOf(hook: string, secretFile: string): string {
  return `
server: {country: DE}
alerts:
  enabled: true
  webhooks:
    - {name: ops, url: "${hook}", secret_file: ${secretFile}, allow_private: true}
  rules:
    - {name: trial, metric: process_resident_memory_bytes, op: ">", threshold: 1, for: 1s, severity: info}
esim: {enabled: true, smdp_address: smdp.example.org}
fairuse: {enabled: true}
ran:
  profiles:
    lab-b3: {technology: lte, channel: 1300, bandwidth_mhz: 10, eirp_dbm: 20}
`
}

/** What stands in the documentation for something that only a running box has, and where that comes from. */
export function replacements(
  service: Service,
  cwd: string,
): readonly (readonly [RegExp, () => Promise<string>])[] {
  const issue = async (): Promise<{ readonly hash: string; readonly batch: string }> => {
    const { status, body } = await service.request('POST', '/v1/sims', { body: {} })
    if (status !== 201) throw new Error(`no SIM: ${status}`)
    return { hash: body.sims[0].imsi_sha256_12, batch: body.batch_id }
  }
  return [
    [/http:\/\/127\.0\.0\.1:8080/g, async () => service.url],
    [/svc_…/g, async () => service.adminToken],
    [/\/etc\/svc/g, async () => etcOf(cwd)],
    [/\b5c1b940e9d29\b|\bHASH\b/g, async () => (await issue()).hash],
    [/\bb-2026112\d-(…|[a-z0-9]+)/g, async () => (await issue()).batch],
    [/\be-0123…/g, () => codeOf(service)],
    [/\ba-0123456789abcdef\b/g, () => alertOf(service)],
    [/&cursor=…/g, async () => ''],
    [/\bFILE\b/g, async () => readdirSync(cwd).find((name) => name.includes('backup')) ?? 'no backup'],
    [/\bPID\b/g, async () => String(service.child.pid)],
    [/(?<=--trust )mesh-ca\.pem/g, async () => join(service.dataDir, 'keys/mesh-ca.pem')],
    [/(?<=If-Match: )"2"/g, async () => etagOf(service)],
    // A report about longer ago than a month is refused.
    [/2026-11-21T18:00:00Z/g, async () => new Date().toISOString()],
  ]
}

async function codeOf(service: Service): Promise<string> {
  const { status, body } = await service.request('POST', '/v1/esim/issue', { body: {} })
  if (status !== 201) throw new Error(`no code: ${status}`)
  return body.token
}

/** The alert of the rule that is always true. */
async function alertOf(service: Service): Promise<string> {
  let id = ''
  await eventually(async () => {
    const { body } = await service.request('GET', '/v1/alerts')
    const found = body.alerts.find((one: { readonly rule: string }) => one.rule === 'trial')
    if (found?.state !== 'firing') throw new Error('the alert does not fire yet')
    id = found.id
  })
  return id
}

async function etagOf(service: Service): Promise<string> {
  return (await service.request('GET', '/v1/policy')).headers.get('etag') ?? ''
}

/** The folder in the place of /etc/svc. */
function etcOf(cwd: string): string {
  const folder = join(cwd, 'etc')
  mkdirSync(folder, { recursive: true })
  return folder
}

/** Files that pages speak of: cards to import, as the page shows them. */
export function putFiles(cwd: string, pages: ReadonlyMap<string, string>): void {
  const cards = /^```csv\n([\s\S]*?)^```$/m.exec(pages.get('how-to/import.md') ?? '')?.[1]
  if (cards === undefined) throw new Error('how-to/import.md shows no cards')
  writeFileSync(join(cwd, 'cards.csv'), cards)
}
