import {
  type ImsiHash,
  objectSchema,
  type Plugin,
  type Request,
  route,
  type SimCredentials,
  type SimIssuer,
  simIssuerRef,
  validationFailed,
} from '@steeple/contracts'
import {
  assert,
  bodyOf,
  codeOf,
  type InlinePlugin,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import type { IssueAnswer, SimBody } from './support/answers.ts'

const issuers = suite('sims/issuer')
let bed: Testbed

interface Told {
  readonly hash: string
  readonly batch: string
  readonly iccid_last4: string
  readonly labels: readonly (string | undefined)[]
}

/** A plugin that issues SIMs in mutations of its own requests; `fails` has the mutation throw at its end. */
function other(): InlinePlugin {
  const value: Plugin = {
    setup: async (context) => ({
      routes: [
        route<unknown, unknown, { sims: object; fails?: boolean }>({
          method: 'POST',
          path: '/v1/other/issue',
          role: 'sim:issuer',
          summary: 'Test',
          audit: 'other.issue',
          schema: {
            body: objectSchema({ sims: { type: 'object' }, fails: { type: 'boolean' } }, ['sims']),
          },
          handle: (request) => answer(context.use(simIssuerRef), request),
        }),
        route<unknown, unknown, { hash: string }>({
          method: 'POST',
          path: '/v1/other/revoke',
          role: 'sim:issuer',
          summary: 'Test',
          audit: 'other.revoke',
          schema: { body: objectSchema({ hash: { type: 'string' } }, ['hash']), status: 204 },
          handle: (request) =>
            request.mutate(request.body.hash, async (tx) => {
              await context.use(simIssuerRef).revokeIn(tx, request.body.hash as ImsiHash)
              return { status: 204 }
            }),
        }),
      ],
    }),
  }
  return {
    name: '@example/other',
    version: '1.0.0',
    plugin: value,
    manifest: {
      id: 'other',
      kind: 'feature',
      contracts: '*',
      config_path: 'other',
      requires: [simIssuerRef.id],
      handover: 'overlap',
    },
  }
}

async function answer(
  service: SimIssuer,
  request: Request<unknown, unknown, { sims: object; fails?: boolean }>,
): ReturnType<Request['mutate']> {
  const prepared = await service.prepare(request.body.sims, request)
  const [card] = prepared.cards
  if (card === undefined) throw validationFailed('no card')
  const opened = prepared.credentials(card.imsi)
  const iccid = textOf(opened.iccid)
  opened.wipe()
  const reply = await request.mutate(card.imsi, async (tx) => {
    tx.audit(await prepared.issueIn(tx))
    if (request.body.fails === true) throw validationFailed('asked to fail')
    const labels = prepared.cards.map(({ label }) => label)
    return { body: { hash: card.imsi, batch: prepared.batchId, iccid_last4: iccid.slice(-4), labels } }
  })
  return reply
}

const textOf = (octets: Uint8Array): string => Buffer.from(octets).toString('ascii')
const issue = async (sims: object): Promise<Told> =>
  bodyOf<Told>(await bed.request('POST', '/v1/other/issue', { body: { sims } }))
const show = async (hash: string): Promise<SimBody> => bodyOf(await bed.request('GET', `/v1/sims/${hash}`))
const service = (): SimIssuer => {
  const found = bed.service(simIssuerRef)
  if (found === undefined) throw new Error('sims is not loaded')
  return found
}
const open = (hash: string): Promise<SimCredentials> => service().credentials(hash as ImsiHash)

issuers.before(async () => {
  const { startTestbed } = await loadTestbed()
  bed = await startTestbed({ plugins: [await pluginFrom(import.meta.url, plugin), other()] })
})
issuers.after(() => bed.stop())

issuers('issues SIMs in the mutation of another plugin, as a batch', async () => {
  const told = await issue({ count: 2, label: 'harbour' })
  assert.equal(told.labels.toSorted(), ['harbour 1', 'harbour 2'])
  const sim = await show(told.hash)
  assert.equal([sim.state, sim.batch_id], ['issued', told.batch])
})

issuers('audits them under the action of the caller, with what the route of sims would say', async () => {
  const told = await issue({})
  const entry = (await bed.audit()).find(({ action }) => action === 'other.issue')
  assert.is(entry?.target, told.hash)
  assert.equal(entry?.detail, {
    batch_id: told.batch,
    count: 1,
    profile: 'default',
    ids: [told.hash],
    replaces: null,
  })
})

issuers('leaves nothing of them when that mutation fails', async () => {
  const counted = async (): Promise<number> =>
    bodyOf<{ sims: readonly unknown[] }>(await bed.request('GET', '/v1/sims?limit=500')).sims.length
  const before = await counted()
  const failed = await bed.request('POST', '/v1/other/issue', { body: { sims: { count: 3 }, fails: true } })
  assert.is(codeOf(failed, 400), 'validation_failed')
  assert.is(await counted(), before)
})

issuers('puts a new SIM in the place of another, which is revoked', async () => {
  const card = bodyOf<IssueAnswer>(await bed.request('POST', '/v1/sims', { body: { label: 'ann' } }), 201)
  const told = await issue({ replaces: card.first.imsi_sha256_12 })
  assert.equal(told.labels, ['ann'])
  assert.is((await show(card.first.imsi_sha256_12)).state, 'revoked')
})

issuers('opens the credentials of a SIM in any state, and wipes them', async () => {
  const { hash, iccid_last4 } = await issue({ imsi: '999990000000321' })
  bodyOf(await bed.request('POST', `/v1/sims/${hash}/revoke`, { body: {} }))
  const { imsi, iccid, ki, opc, wipe, ...rest } = await open(hash)
  assert.is(imsi, '999990000000321')
  assert.ok(textOf(iccid).endsWith(iccid_last4))
  assert.equal([ki.length, opc.length, rest.adm1.length, rest.puk1.length], [16, 16, 8, 8])
  wipe()
  assert.ok([ki, opc, iccid, rest.adm1, rest.pin1].every((octets) => octets.every((octet) => octet === 0)))
  await open('000000000000').then(
    () => assert.unreachable(),
    (error: { code?: string }) => assert.is(error.code, 'sim_not_found'),
  )
})

issuers('gives a SIM with all that a delivery needs of it', async () => {
  const { hash, iccid_last4 } = await issue({ imsi: '999990000000322' })
  const sim = await service().sim(hash as ImsiHash)
  assert.equal([sim?.view.imsi, sim?.view.state], [hash, 'issued'])
  const credentials = sim?.credentials()
  assert.is(credentials?.imsi, '999990000000322')
  const iccid = sim?.iccid() ?? new Uint8Array()
  assert.is(textOf(iccid), textOf(credentials?.iccid ?? new Uint8Array()))
  credentials?.wipe()
  assert.ok(textOf(iccid).endsWith(iccid_last4), 'the digits are the own of whoever asked for them alone')
  assert.is(await service().sim('000000000000' as ImsiHash), undefined)
})

issuers('tells the cards of a batch by hash, page by page', async () => {
  const { batch } = await issue({ count: 5, label: 'shelf' })
  const first = await service().batch(batch, '', 3)
  const rest = await service().batch(batch, first.at(-1)?.imsi ?? '', 3)
  assert.equal([first.length, rest.length], [3, 2])
  const hashes = [...first, ...rest].map(({ imsi }) => imsi)
  assert.equal(hashes, hashes.toSorted())
  assert.ok(
    [...first, ...rest].every(({ label, batchId }) => /^shelf [1-5]$/.test(label ?? '') && batchId === batch),
  )
  const named = await service().cards([...hashes.slice(0, 2), '000000000000' as ImsiHash])
  assert.equal(named.map(({ imsi }) => imsi).toSorted(), hashes.slice(0, 2))
})

issuers('finds a SIM by its ICCID until it is revoked, which others can do in their mutations', async () => {
  const { hash } = await issue({})
  const { iccid, wipe } = await open(hash)
  const text = textOf(iccid)
  wipe()
  assert.is((await service().byIccid(text))?.imsi, hash)
  assert.is(await service().byIccid('8999999999999999999'), undefined)
  const revoke = (): ReturnType<Testbed['request']> =>
    bed.request('POST', '/v1/other/revoke', { body: { hash } })
  assert.equal([(await revoke()).status, (await revoke()).status], [204, 204], 'repeated')
  assert.is((await show(hash)).state, 'revoked')
  assert.is(await service().byIccid(text), undefined)
  const unknown = await bed.request('POST', '/v1/other/revoke', { body: { hash: '000000000000' } })
  assert.is(codeOf(unknown, 404), 'sim_not_found')
})

issuers.run()
