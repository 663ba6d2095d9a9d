import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { restoreBackup, takeBackup } from '../harness/backups.ts'
import { imsiHashOf } from '../harness/hss/sims.ts'
import { insertBatch, type LabProcess, labPhones, startLabCore } from '../harness/lab-core.ts'
import { exportedCards, type Service, startService } from '../harness/service.ts'

const test = suite('e2e/backup-lab', { limitMs: 1_200_000 })
const SIMS = 3

interface Card {
  readonly imsi: string
}

/** Once every SIM is in the HSS as the store has it. */
async function allSynced(service: Service, count: number): Promise<void> {
  await eventually(async () => {
    const { body } = await service.request('GET', '/v1/sims?limit=500')
    const sims = body.sims as readonly { readonly provisioning: { readonly status: string } }[]
    return sims.length === count && sims.every(({ provisioning }) => provisioning.status === 'synced')
  })
}

/** The card of a batch of one. */
async function cardOf({ dataDir }: Service, { env }: LabProcess, batch: string): Promise<Card> {
  const [card] = JSON.parse(await exportedCards(dataDir, batch, env)) as readonly Card[]
  if (card === undefined) throw new Error('the batch has no card')
  return card
}

function isInHss({ env }: LabProcess, { imsi }: Card): boolean {
  const { SVC_HSS_DBCTL_PATH: tool = '', LAB_CORE_DIR = '' } = env
  const shown = execFileSync(process.execPath, [tool, 'show', imsi], {
    env: { ...process.env, LAB_CORE_DIR },
  })
  return /sqn: /.test(String(shown))
}

/** The SQN of a subscriber, as the HSS of the lab core has it. */
function sqnOf(lab: LabProcess, { imsi }: Card): bigint {
  const { SVC_HSS_DBCTL_PATH: tool = '', LAB_CORE_DIR = '' } = lab.env
  const shown = execFileSync(process.execPath, [tool, 'show', imsi], {
    env: { ...process.env, LAB_CORE_DIR },
  })
  const found = /sqn: (?:Long\(')?(\d+)/.exec(String(shown))?.[1]
  if (found === undefined) throw new Error('the HSS has no SQN of it')
  return BigInt(found)
}

/** Each phone leaves the network and comes back. */
async function reattach({ urls: { control } }: LabProcess): Promise<void> {
  await labPhones(control, 'POST', '/phones/all/detach', '{}')
  await eventually(async () => (await labPhones(control)).every(({ ipv4 }) => ipv4 === null))
  await eventually(async () => {
    await labPhones(control, 'POST', '/phones/all/attach', '{}')
    return await allOn(control)
  })
}

async function allOn(control: string): Promise<boolean> {
  return (await labPhones(control)).every(({ state, problem }) => state === 'connected' && problem === null)
}

test('after a restore no SQN is lower, the core says what the store says, and the phones attach again', async () => {
  await using dir = await tempDir()
  // What still runs when the test fails would keep this process from ending.
  await using running = new AsyncDisposableStack()
  const lab = await startLabCore(join(dir.path, 'lab-core'))
  running.defer(() => lab.stop())
  const service = await startService({ dataDir: join(dir.path, 'data'), env: lab.env })
  running.defer(() => service.kill())
  const { body: made } = await service.request('POST', '/v1/sims', { body: { count: SIMS } })
  await allSynced(service, SIMS)
  const cards = JSON.parse(await insertBatch(lab, service.dataDir, made.batch_id)) as readonly Card[]
  await eventually(() => allOn(lab.urls.control))
  const file = await takeBackup(service)

  // What the backup knows nothing of: authentications, a SIM that is barred, one that is new.
  for (let round = 0; round < 3; round++) await reattach(lab)
  const [barred = { imsi: '' }] = cards
  const suspended = await service.request('POST', `/v1/sims/${imsiHashOf(barred.imsi)}/suspend`, {
    body: { reason: 'lost' },
  })
  assert.is(suspended.status, 200, JSON.stringify(suspended.body))
  const { body: late } = await service.request('POST', '/v1/sims', { body: { count: 1 } })
  await allSynced(service, SIMS + 1)
  const lateCard = await cardOf(service, lab, late.batch_id)
  assert.ok(isInHss(lab, lateCard))
  const before = cards.map((card) => sqnOf(lab, card))

  const restored = await restoreBackup(service, file)
  running.defer(() => restored.kill())
  // What was issued since is there as revoked, and gone from the HSS.
  await allSynced(restored, SIMS + 1)
  assert.is((await restored.request('GET', `/v1/sims/${imsiHashOf(lateCard.imsi)}`)).body.state, 'revoked')
  assert.not(isInHss(lab, lateCard))
  const after = cards.map((card) => sqnOf(lab, card))
  after.forEach((sqn, n) => {
    assert.ok(sqn >= (before[n] ?? sqn + 1n), `the SQN of SIM ${n} was lowered`)
  })
  await reattach(lab)
  cards.forEach((card, n) => {
    assert.ok(sqnOf(lab, card) > (before[n] ?? 0n), `SIM ${n} was not authenticated`)
  })
  const { body } = await restored.request('GET', `/v1/sims/${imsiHashOf(barred.imsi)}`)
  assert.is.not(body.state, 'suspended')
  assert.is(await restored.stop(), 0)
})

test.run()
