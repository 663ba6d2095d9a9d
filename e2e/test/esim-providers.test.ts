import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import { type Es2Provider, startEs2Provider } from '../harness/es2-provider.ts'
import { download, ESIM_ENV, expect, type LabEum, newEuicc, prepareEsim } from '../harness/esim.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

/** eSIMs that another SM-DP+ delivers, beside our own, by the commands that people use. */
const providers = suite('e2e/esim-providers')
let folder: string
let service: Service
let provider: Es2Provider
let eums: readonly LabEum[] = []

interface Sim {
  readonly hash: string
  readonly iccid: string
  readonly imsi: string
  readonly ki: string
}

providers.before(
  async () => {
    folder = mkdtempSync(join(tmpdir(), 'steeple-providers-'))
    service = await startService({ env: ESIM_ENV, dataDir: join(folder, 'data') })
    eums = await prepareEsim(service)
    provider = await startEs2Provider()
  },
  { limitMs: 360_000 },
)
providers.after(async () => {
  await provider.stop()
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function svc(
  args: readonly string[],
  wanted = 0,
  input = '',
): Promise<{ readonly out: string; readonly err: string }> {
  const { code, stdout, stderr } = await runSvc(
    ['--url', service.url, ...args],
    { SVC_TOKEN: service.adminToken },
    input,
  )
  assert.is(code, wanted, `svc ${args.join(' ')}: ${stderr}`)
  return { out: stdout, err: stderr }
}

/** Cards of a vendor: whose secrets a test knows. */
async function importSims(count: number): Promise<{ readonly batch: string; readonly sims: readonly Sim[] }> {
  const cards = Array.from({ length: count }, (_, i) => {
    const end = `${Math.floor(Math.random() * 1e8)}`.padStart(8, '0')
    return {
      imsi: `99999${i}0${end}`,
      iccid: withCheckDigit(`8999909${i}0${end}0`),
      ki: `${i}0${end}`.padEnd(32, 'ab'),
    }
  })
  const body = { sims: cards.map((card) => ({ ...card, opc: 'cd63cb71954a9f4e48a5994e37a02baf' })) }
  const { batch_id: batch, results } = expect(await service.request('POST', '/v1/sims/import', { body }), 200)
  const sims = cards.map((card, i) => ({ ...card, hash: String(results[i].imsi_sha256_12) }))
  return { batch, sims }
}

function withCheckDigit(digits: string): string {
  const sum = [...digits].reverse().reduce((total, digit, i) => {
    const value = i % 2 === 0 ? Number(digit) * 2 : Number(digit)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}

const listed = async (sim: Sim) =>
  expect(await service.request('GET', `/v1/esim/codes?imsi=${sim.hash}`), 200).codes[0]
const issued = (sim: Sim) => service.request('POST', '/v1/esim/issue', { body: { imsi_sha256_12: sim.hash } })

providers('orders over mutual TLS, and says what the provider refuses', async () => {
  const { ca, cert, key } = provider.files
  const { batch, sims } = await importSims(2)
  const [first, second] = sims as readonly [Sim, Sim]
  const base = ['esim', 'provider', 'set', 'harbour', '--es2-url', provider.url, '--requester', '2.999.7']
  await svc([...base, '--server-ca', ca])
  // Without its certificate the provider ends the connection before it reads anything.
  const away = await svc(['esim', 'provider', 'order', 'harbour', '--batch', batch], 1)
  assert.match(away.err, /the provider cannot be reached/)
  await svc(['esim', 'provider', 'set', 'harbour', '--client-cert', cert, '--client-key', key])
  provider.profiles.set(first.iccid, 'available')
  const part = await svc(['esim', 'provider', 'order', 'harbour', '--batch', batch], 1)
  assert.match(part.out, /1 code is ordered/)
  assert.match(part.err, new RegExp(`${second.hash}: downloadOrder: refused, 8\\.2\\.1/3\\.9`))
  provider.profiles.set(second.iccid, 'available')
  await svc(['esim', 'provider', 'order', 'harbour', '--batch', batch])
  const list = await svc(['esim', 'mdm-list', batch])
  for (const { iccid } of sims)
    assert.ok(list.out.includes(`${iccid},LPA:1$rsp.provider.example$PROVIDED-${iccid.slice(-8)},`))
  const { token } = await listed(first)
  assert.match((await svc(['esim', 'qr', token])).out, /LPA:1\$rsp\.provider\.example\$PROVIDED-/)
  // By ES2+ goes the number of a profile, and nothing of what is in it.
  for (const { imsi, ki } of sims)
    assert.ok(!provider.received().includes(imsi) && !provider.received().includes(ki))
})

providers('never has two servers that can deliver one SIM', async () => {
  const { sims } = await importSims(1)
  const [sim] = sims as readonly [Sim]
  provider.profiles.set(sim.iccid, 'available')
  await svc(['esim', 'provider', 'order', 'harbour', '--sim', sim.hash])
  const { token } = await listed(sim)
  assert.match((await issued(sim)).body.error.message, /the provider harbour delivers SIM/)
  // A code of the provider opens nothing at our own server.
  const code = `LPA:1$smdp.example.org$PROVIDED-${sim.iccid.slice(-8)}`
  const refused = await download(service, newEuicc(eums), code).then(
    () => 'delivered',
    (error: unknown) => String(error),
  )
  assert.match(refused, /8\.2\.6/)
  await svc(['esim', 'revoke', token])
  await eventually(() => assert.is(provider.profiles.get(sim.iccid), 'available'), 60_000)
  await eventually(async () => assert.is((await listed(sim)).provider_cancel, 'done'), 60_000)
  const own = expect(await issued(sim), 201)
  const { profile } = await download(service, newEuicc(eums), own.activation_code)
  assert.is(profile.imsi, sim.imsi)
  const back = await svc(['esim', 'provider', 'order', 'harbour', '--sim', sim.hash], 1)
  assert.match(back.err, /of this box has delivered the SIM/)
})

providers('imports what came back by file, and says which rows it refused', async () => {
  const { sims } = await importSims(1)
  const [sim] = sims as readonly [Sim]
  const file = join(folder, 'codes.csv')
  writeFileSync(
    file,
    `\uFEFFICCID;LPA String\r\n${sim.iccid};LPA:1$rsp.provider.example$BY-FILE-1\r\n8.99E+18;LPA:1$x.example$A\r\n`,
  )
  const { out, err } = await svc(['esim', 'provider', 'import', 'harbour', file], 1)
  assert.match(out, /imported +1/)
  assert.match(err, /line 3 .*shortened by a spreadsheet/)
  const qr = join(folder, 'qr.svg')
  await svc(['esim', 'qr', (await listed(sim)).token, '--svg', qr])
  assert.match(readFileSync(qr, 'utf8'), /^<svg/)
  assert.ok(!service.output().includes('BY-FILE-1'))
})

providers.run()
