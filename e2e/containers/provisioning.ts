import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually } from '@steeple/testkit'
import { EJSON, type Long } from 'bson'
import { ROOT } from '../harness/launch.ts'
import type { Service } from '../harness/service.ts'
import type { TestDatabase } from './database.ts'

const RECORDING = 'packages/driver-hss/test/fixtures/subscriber.after-dbctl-add.ejson-canonical.json'

/** A card whose keys the test knows. */
export interface KnownCard {
  readonly imsi: string
  readonly ki: string
  readonly opc: string
}

/** The card of the recordings, in the network that a node has by default. */
export const RECORDED_CARD: KnownCard = {
  imsi: '999990000000060',
  ki: '465b5ce8b199b49faa5f0a2ee238a6bc',
  opc: 'e8ed289deba952e4283b54e88e6183ca',
}

/** Imports one card and gives its hash. */
export async function importCard(service: Service, card: KnownCard, apns = 'internet'): Promise<string> {
  const answer = await service.request('POST', '/v1/sims/import', {
    body: { sims: [{ ...card, apns }] },
  })
  assert.is(answer.status, 200, JSON.stringify(answer.body))
  assert.is(answer.body.results[0].status, 'imported', JSON.stringify(answer.body))
  return answer.body.results[0].imsi_sha256_12
}

/** Issues SIMs and gives their hashes. */
export async function issue(service: Service, count: number): Promise<readonly string[]> {
  const answer = await service.request('POST', '/v1/sims', { body: { count } })
  assert.is(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.sims.map((sim: { imsi_sha256_12: string }) => sim.imsi_sha256_12)
}

/** Waits until the HSS has every SIM as it should be. */
export async function allSynced(service: Service, limitMs: number): Promise<void> {
  await eventually(async () => {
    const { body } = await service.request('GET', '/v1/sims?limit=500')
    return body.sims.every(
      (sim: { provisioning: { status: string } }) => sim.provisioning.status === 'synced',
    )
  }, limitMs)
}

/** What the health of provisioning and of the driver says, in one text. */
export async function hssHealth(
  service: Service,
): Promise<{ readonly isOk: boolean; readonly words: string }> {
  const { body } = await service.request('GET', '/v1/health')
  const parts: readonly { name: string; status: string; detail: string }[] = body.components
  const ours = parts.filter(({ name }) => name === 'driver-hss.hss' || name === 'sims.provisioning')
  assert.is(ours.length, 2, JSON.stringify(parts))
  return {
    isOk: ours.every(({ status }) => status === 'ok'),
    words: ours.map(({ status, detail }) => `${status}: ${detail}`).join('\n'),
  }
}

/** Remembers the SQN of every subscriber of Open5GS and fails when one has another SQN later. */
export class SqnBook {
  readonly #database: TestDatabase
  readonly #seen = new Map<string, string>()

  constructor(database: TestDatabase) {
    this.#database = database
  }

  /** Looks into the database; gives how many subscribers it holds. */
  async check(): Promise<number> {
    const docs = await this.#database.collection('open5gs', 'subscribers').find().toArray()
    for (const doc of docs) {
      const sqn = String(doc.security.sqn as Long)
      const imsi = String(doc.imsi)
      assert.is(this.#seen.get(imsi) ?? sqn, sqn, 'a subscriber was pushed with another SQN')
      this.#seen.set(imsi, sqn)
    }
    assert.is(new Set(docs.map(({ imsi }) => imsi)).size, docs.length, 'a subscriber is there twice')
    return docs.length
  }
}

/** The document that the core wants for a card, as canonical EJSON: the recording of the stock tool, its SQN and realm right. */
export function wantedDocument({ imsi, ki, opc }: KnownCard): string {
  const { mm_realm, security, ...rest } = JSON.parse(readFileSync(join(ROOT, RECORDING), 'utf8'))
  const expected = {
    ...rest,
    imsi,
    mme_realm: mm_realm,
    security: { ...security, k: ki, opc, sqn: { $numberLong: '32' } },
  }
  return canonical(EJSON.parse(JSON.stringify(expected), { relaxed: false }))
}

/** A stored document as canonical EJSON, keys sorted, without ids. */
export function canonical(doc: unknown): string {
  const plain: unknown = JSON.parse(EJSON.stringify(doc, { relaxed: false }), (key, value: unknown) => {
    if (key === '_id') return undefined
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
  return JSON.stringify(plain, undefined, 1)
}
