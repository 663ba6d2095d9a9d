import { X509Certificate } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COLUMN_NAMES, cellsOf, plainCell, verifyFile } from '@steeple/compliance/file'
import { assert, eventually, rounds, suite } from '@steeple/testkit'
import Database from 'better-sqlite3'
import { about } from '../harness/builds/program.ts'
import { download, expect, newEuicc, prepareEsim } from '../harness/esim.ts'
import { startLabCore } from '../harness/lab-core.ts'
import { openAir } from '../harness/radio/air.ts'
import { openBox } from '../harness/radio/box.ts'
import { fillMoves } from '../harness/recorded-moves.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

/** Names of the tables of a store in which a text stands, in a text or in octets. The file must not be in use. */
function tablesWith(path: string, text: string): readonly string[] {
  const connection = new Database(path, { readonly: true })
  try {
    const tables = connection.prepare("select name from sqlite_master where type = 'table'").all()
    const holds = (name: string): boolean =>
      connection
        .prepare(`select * from ${name}`)
        .all()
        .some((row) => Object.values(row as object).some((value) => isWithin(value, text)))
    return tables.map((table) => String((table as { readonly name: unknown }).name)).filter(holds)
  } finally {
    connection.close()
  }
}

function isWithin(value: unknown, text: string): boolean {
  const searched = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
  return searched.toLowerCase().includes(text.toLowerCase())
}

const ROUNDS = rounds(9)
const ADMIN = 'compliance-test-admin-token-0123456789abcdef'
/** A cut takes 1.5 s with an HSS. */
const LONGEST_RUN_MS = 2_500
const MOVES = 200_000
const LIMIT = { limitMs: 900_000 }

const compliance = suite('e2e/compliance', LIMIT)

type Row = Readonly<Record<string, string>>

async function* inPieces(octets: Uint8Array): AsyncGenerator<Uint8Array> {
  yield octets
}

/** What is wrong with a file of the service whose data is there. */
async function problemsOf(octets: Uint8Array, dataDir: string): Promise<readonly string[]> {
  const ca = new X509Certificate(readFileSync(join(dataDir, 'keys', 'mesh-ca.pem')))
  return (await verifyFile(inPieces(octets), [ca])).problems
}

/** The rows of a whole file. */
async function rowsOf(service: Service, kinds: string): Promise<readonly Row[]> {
  const headers = { authorization: `Bearer ${service.adminToken}` }
  const answer = await fetch(`${service.url}/v1/compliance/export?kinds=${kinds}`, { headers })
  assert.is(answer.status, 200)
  const octets = new Uint8Array(await answer.arrayBuffer())
  assert.equal(await problemsOf(octets, service.dataDir), [])
  const lines = Buffer.from(octets).toString('utf8').split('\r\n').slice(1, -2)
  return lines.map((line) => {
    const cells = cellsOf(line) ?? []
    return Object.fromEntries(COLUMN_NAMES.map((name, i) => [name, plainCell(cells[i] ?? '')]))
  })
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-compliance-'))
  try {
    await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One SIM of somebody, with a quota; every third is an eSIM that an eUICC holds. */
async function holder(service: Service, eums: Parameters<typeof newEuicc>[0], n: number): Promise<string> {
  const label = `Holder-${n}`
  if (n % 3 !== 0) {
    const { sims } = expect(
      await service.request('POST', '/v1/sims', { body: { label, quota_bytes: 1_000 } }),
      201,
    )
    return sims[0].imsi_sha256_12
  }
  const code = expect(await service.request('POST', '/v1/esim/issue', { body: { label } }), 201)
  await download(service, newEuicc(eums), code.activation_code)
  return code.imsi_sha256_12
}

about(['driver-hss', 'esim-smdp', 'fair-use'], compliance)(
  `erases whole or not at all, and goes on at the next start, in ${ROUNDS} rounds of kill -9`,
  () =>
    inFolder(async (folder) => {
      const lab = await startLabCore(join(folder, 'lab-core'))
      const dataDir = join(folder, 'data')
      const env = {
        ...lab.env,
        SVC_ESIM_ENABLED: 'true',
        SVC_ESIM_SMDP_ADDRESS: 'smdp.example.org',
        SVC_FAIRUSE_ENABLED: 'true',
      }
      let running: Service | undefined
      const start = async (): Promise<Service> => {
        running = await startService({ dataDir, adminToken: ADMIN, env })
        return running
      }
      try {
        let service = await start()
        const eums = await prepareEsim(service)
        const hashes: string[] = []
        for (let n = 0; n < ROUNDS; n++) hashes.push(await holder(service, eums, n))
        await provisioned(service, hashes)
        for (const hash of hashes) {
          const path = `/v1/sims/${hash}/forget`
          const asked = service.request('POST', path, { body: { revoke: true } }).catch(() => undefined)
          await new Promise((done) => setTimeout(done, Math.random() * LONGEST_RUN_MS))
          await service.kill()
          const answer = await asked
          service = await start()
          await wholeOrNothing(service, hash, answer?.status === 202)
        }
        for (const hash of hashes) await forgotten(service, hash)
        await judge(service, hashes)
        await service.stop()
        const store = join(dataDir, 'svc.db')
        assert.equal(tablesWith(store, 'holder-'), [])
        const filled = tablesWith(store, '')
        for (const table of ['esim_smdp_code', 'esim_smdp_euicc', 'fair_use_quota', 'compliance_erasure'])
          assert.not.ok(filled.includes(table), table)
      } finally {
        await running?.kill()
        await lab.stop()
      }
    }),
  LIMIT,
)

async function provisioned(service: Service, hashes: readonly string[]): Promise<void> {
  for (const hash of hashes)
    await eventually(async () =>
      assert.is((await service.request('GET', `/v1/sims/${hash}`)).body.provisioning?.status, 'synced'),
    )
}

/** What was answered has begun; what was not has begun with all that belongs to it, or not at all. */
async function wholeOrNothing(service: Service, hash: string, wasAnswered: boolean): Promise<void> {
  const { status, body } = await service.request('GET', `/v1/sims/${hash}`)
  if (status === 404) return
  assert.is(status, 200)
  const { body: open } = await service.request('GET', '/v1/compliance/erasures?limit=500')
  const isOpen = open.erasures.some((one: Row) => one.imsi_sha256_12 === hash)
  // It may have been erased between the two questions.
  if (!isOpen && (await service.request('GET', `/v1/sims/${hash}`)).status === 404) return
  assert.equal(
    [body.state === 'revoked', body.label === null, wasAnswered || isOpen],
    [isOpen, isOpen, isOpen],
    JSON.stringify(body),
  )
}

/** Asks again for what the kill has swallowed, and waits until it is gone. */
async function forgotten(service: Service, hash: string): Promise<void> {
  await service.request('POST', `/v1/sims/${hash}/forget`, { body: { revoke: true } })
  await eventually(async () => assert.is((await service.request('GET', `/v1/sims/${hash}`)).status, 404))
}

async function judge(service: Service, hashes: readonly string[]): Promise<void> {
  await eventually(async () => {
    const codes = await service.request('GET', '/v1/esim/codes')
    assert.equal(codes.body.codes, [])
    const { body } = await service.request('GET', '/v1/health')
    const events = body.components.filter(({ name }: { readonly name: string }) => name.includes('sim.erase'))
    assert.equal(events, [], 'everybody has heard of it')
  })
  const moves = await rowsOf(service, 'sim')
  for (const hash of hashes)
    assert.equal(
      moves.filter(({ subject }) => subject === hash).map(({ to }) => to),
      ['issued', 'revoked', 'erased'],
      hash,
    )
  const verdict = await runSvc(['audit', 'verify', '--data-dir', service.dataDir])
  assert.is(verdict.code, 0, verdict.stdout + verdict.stderr)
}

compliance(
  'a file that a kill -9 breaks off counts as none, and the next one is whole and says that somebody asked',
  () =>
    inFolder(async (folder) => {
      const dataDir = join(folder, 'data')
      const start = (): Promise<Service> =>
        startService({ dataDir, adminToken: ADMIN, env: { SVC_HSS_DRIVER: 'none' } })
      const first = await start()
      await first.stop()
      fillMoves(join(dataDir, 'svc.db'), MOVES)
      let service = await start()
      const headers = { authorization: `Bearer ${ADMIN}` }
      const answer = await fetch(`${service.url}/v1/compliance/export`, { headers })
      const pieces: Uint8Array[] = []
      try {
        for await (const piece of answer.body ?? []) {
          // Many megabytes are still to come, and nothing is read ahead.
          if (pieces.length === 0) await service.kill()
          pieces.push(piece)
        }
      } catch {
        // The connection is gone.
      }
      const broken = Buffer.concat(pieces)
      assert.ok(broken.length > 0)
      assert.ok((await problemsOf(broken, dataDir)).length > 0)
      service = await start()
      const file = join(folder, 'file.csv')
      const saving = runSvc(['compliance', 'export', '-o', file], {
        SVC_URL: service.url,
        SVC_ADMIN_TOKEN: ADMIN,
      })
      await eventually(async () => {
        const { body } = await service.request('GET', '/v1/audit?action=compliance.export')
        assert.is(body.entries.length, 2)
      })
      await service.kill()
      const { code } = await saving
      // On a machine that stood still here it was quicker than the kill.
      if (code === 0) assert.equal(await problemsOf(readFileSync(file), dataDir), [])
      else assert.not.ok(existsSync(file) || existsSync(`${file}.part`))
      service = await start()
      const asked = await rowsOf(service, 'export')
      assert.equal(
        asked.map(({ reason }) => reason),
        ['ok', 'ok', 'ok'],
      )
      assert.is((await rowsOf(service, 'sim')).length, MOVES)
      await service.stop()
    }),
)

about(['driver-ran'], compliance)(
  'tells of a time on air with the profile, the license and who armed and disarmed',
  () =>
    inFolder(async (folder) => {
      const air = await openAir(folder)
      const box = await openBox(air, folder)
      try {
        await box.onAir()
        const [open] = await rowsOf(box.service, 'tx')
        assert.equal([open?.until, open?.reason], ['', ''])
        assert.is(
          (await box.request('POST', '/v1/tx/arm', { body: { arm: false }, headers: {} })).status,
          200,
        )
        const [row, ...others] = await rowsOf(box.service, 'tx')
        assert.equal(others, [])
        const { id, at = '', until = '', by = '', detail = '{}', ...rest } = row ?? {}
        assert.is(id, open?.id)
        assert.ok(at < until, `${at} ${until}`)
        const { ended_by, tx_gain_db } = JSON.parse(detail)
        assert.equal([ended_by, tx_gain_db], [by, 40])
        assert.match(by, /^admin-env:/)
        const told = Object.fromEntries(Object.entries(rest).filter(([, text]) => text !== ''))
        assert.equal(told, {
          kind: 'tx',
          reason: 'disarmed',
          profile: 'mast',
          technology: 'lte',
          band: 'b7',
          channel: '3350',
          bandwidth_mhz: '5',
          country: 'DE',
          license_reference: 'L-7',
          license_holder: 'Example',
        })
      } finally {
        await box.close()
        air.close()
      }
    }),
  LIMIT,
)

compliance.run()
