import { createHash } from 'node:crypto'
import { assert, eventually } from '@steeple/testkit'
import type { Service } from '../service.ts'

/** Keys of the published Milenage test set 1. */
export const TEST_KI = '465b5ce8b199b49faa5f0a2ee238a6bc'
export const TEST_OPC = 'cd63cb71954a9f4e48a5994e37a02baf'

/** By what a SIM is named outside the vault; by the rule as it is documented, and not by our own code. */
export function imsiHashOf(imsi: string): string {
  return createHash('sha256').update(imsi).digest('hex').slice(0, 12)
}

/** Of an import on a machine that is too busy. */
const MOST_TRIES = 20

/** A CSV of `count` cards with consecutive IMSIs from `first` on. */
export function cardsCsv(count: number, first = 0): string {
  const rows = Array.from(
    { length: count },
    (_, n) => `99999${String(first + n).padStart(10, '0')},${TEST_KI},${TEST_OPC}`,
  )
  return `imsi,ki,opc\n${rows.join('\n')}\n`
}

interface Imported {
  readonly imported: number
  readonly skipped: number
  readonly failed: number
}

/**
 * Imports a CSV of new cards and gives the answer's body. A machine that is so busy that 250 rows take 5 s answers that it is
 * to be tried again: then so it is, and `imported` counts the rows of all tries.
 */
export async function importCsv(service: Service, csv: string): Promise<Imported> {
  const send = () =>
    service.request('POST', '/v1/sims/import', { headers: { 'content-type': 'text/csv' }, body: csv })
  let answer = await send()
  let tries = 1
  for (; tries < MOST_TRIES && answer.status === 503; tries += 1) answer = await send()
  assert.is(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
  const body = answer.body as Imported
  return tries === 1 ? body : { ...body, imported: body.imported + body.skipped, skipped: 0 }
}

/** SIMs that are not yet in the HSS as they should be, as the health tells. */
export async function unsynced(service: Service): Promise<number> {
  const { body } = await service.request('GET', '/v1/health')
  const found = componentOf(body, 'sims.provisioning')
  const [, pending, failed] = /(\d+) SIMs? waits?, (\d+) failed/.exec(found?.detail ?? '') ?? []
  return Number(pending ?? Number.NaN) + Number(failed ?? Number.NaN)
}

/** A SIM as the export tells it. */
export interface ExportedSim {
  readonly hash: string
  readonly state: string
  readonly provisioning: string
}

export async function exported(service: Service): Promise<readonly ExportedSim[]> {
  const text = String((await service.request('GET', '/v1/sims/export')).body)
  const [header = '', ...lines] = text.trimEnd().split('\r\n')
  const columns = header.split(',')
  return lines.map((line) => {
    const cells = line.split(',')
    const cell = (name: string): string => cells[columns.indexOf(name)] ?? ''
    return { hash: cell('imsi_sha256_12'), state: cell('state'), provisioning: cell('provisioning') }
  })
}

/** How many SIMs have that provisioning status. */
export async function exportedCount(service: Service, provisioning: string): Promise<number> {
  return (await exported(service)).filter((sim) => sim.provisioning === provisioning).length
}

/** Waits until the HSS has every SIM that may be on air. A cut waits for a core besides, and there is none here. */
export async function allSynced(service: Service, limitMs?: number): Promise<void> {
  await eventually(async () => {
    const begun = performance.now()
    const sims = await exported(service)
    const isDone = sims.every(({ state, provisioning }) => state === 'suspended' || provisioning === 'synced')
    // A service that writes thousands of SIMs down again and again has no time to provision them.
    const pauseMs = Math.max(250, 5 * (performance.now() - begun))
    if (!isDone) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    return isDone
  }, limitMs)
}

/** What the health says of one component. */
export async function healthOf(
  service: Service,
  name: string,
): Promise<{ readonly status: string; readonly detail: string } | undefined> {
  return componentOf((await service.request('GET', '/v1/health')).body, name)
}

interface Health {
  readonly components: readonly { readonly name: string; readonly status: string; readonly detail: string }[]
}

function componentOf(health: Health, name: string): Health['components'][number] | undefined {
  return health.components.find((component) => component.name === name)
}
