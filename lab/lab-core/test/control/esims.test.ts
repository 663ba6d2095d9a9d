import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { issueCi, issueEum } from '@steeple/sgp22'
import { assert, listen, suite, tempDir } from '@steeple/testkit'
import { machineClock } from '../../src/clock.ts'
import { newEuicc, openEsims, readEums } from '../../src/esim/esims.ts'
import { startLab } from '../support/lab.ts'

const esims = suite('lab-core/esims')
const TERMS = { notBeforeMs: Date.UTC(2026, 0, 1), notAfterMs: Date.UTC(2040, 0, 1) }

/** What `svc esim certs lab-eum` writes. */
async function writeEums(path: string): Promise<void> {
  const eums = (['P-256', 'brainpoolP256r1'] as const).map((curve) => {
    const subject = { organization: 'Lab', commonName: 'Lab' }
    const ci = issueCi(curve, { ...TERMS, subject, registeredId: '2.999.1' })
    const eum = issueEum(ci, { ...TERMS, subject, registeredId: '2.999.5', iins: ['89999999'] })
    return {
      curve,
      iin: '89999999',
      ci: Buffer.from(ci.certificate.raw).toString('base64'),
      eum: Buffer.from(eum.certificate.raw).toString('base64'),
      key: eum.key.export({ format: 'pem', type: 'pkcs8' }),
    }
  })
  await writeFile(path, JSON.stringify({ eums }))
}

async function refusing(): Promise<{
  readonly server: Server
  readonly address: string
  readonly seen: string[]
}> {
  const seen: string[] = []
  const server = createServer(async (request, response) => {
    seen.push(`${request.url} ${await text(request)}`)
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        header: {
          functionExecutionStatus: {
            status: 'Failed',
            statusCodeData: { subjectCode: '8.8.1', reasonCode: '3.8', message: 'not here' },
          },
        },
      }),
    )
  })
  return { server, address: `127.0.0.1:${(await listen(server)).port}`, seen }
}

async function asked(
  url: string,
  body: object,
): Promise<{ readonly status: number; readonly error: string }> {
  const answer = await fetch(`${url}/esims`, { method: 'POST', body: JSON.stringify(body) })
  return { status: answer.status, error: String(((await answer.json()) as { error?: string }).error) }
}

esims('says what to do before there is a maker of eUICCs', async () => {
  await using lab = await startLab()
  const { status, error } = await asked(lab.urls.control, { activation_code: 'LPA:1$127.0.0.1:1$A' })
  assert.is(status, 409)
  assert.match(error, /svc esim certs lab-eum --out/)
})

esims('shows what an SM-DP+ refused, and keeps the eUICC', async () => {
  const place = await tempDir('steeple-esims-')
  const smdp = await refusing()
  try {
    await writeEums(join(place.path, 'eum.json'))
    await using lab = await startLab({ directory: place.path })
    const { status, error } = await asked(lab.urls.control, { activation_code: `LPA:1$${smdp.address}$A-1` })
    assert.is(status, 409)
    assert.match(error, /initiateAuthentication was refused: 8\.8\.1\/3\.8 not here/)
    assert.match(smdp.seen[0] ?? '', /^\/gsma\/rsp2\/es9plus\/initiateAuthentication .*"smdpAddress":"127/)
    assert.equal(await (await fetch(`${lab.urls.control}/esims`)).json(), { esims: [] })
  } finally {
    smdp.server.close()
    await place.remove()
  }
})

esims('refuses what is no wish', async () => {
  await using lab = await startLab()
  for (const [body, status] of [
    [{}, 400],
    [{ activation_code: 'x' }, 400],
    [{ activation_code: 'LPA:1$smdp.example$A_B' }, 400],
    [{ activation_code: 'LPA:1$127.0.0.1:1$A', curve: 'P-384' }, 400],
    [{ activation_code: 'LPA:1$127.0.0.1:1$A', euicc: '12' }, 400],
    [{ activation_code: 'LPA:1$127.0.0.1:1$A', euicc: '1234' }, 409],
    [{ activation_code: 'LPA:1$smdp.example$A', server: 'http://smdp.example' }, 409],
  ] as const)
    assert.is((await asked(lab.urls.control, body)).status, status, JSON.stringify(body))
  const { status } = await fetch(`${lab.urls.control}/esims/000000000000/disable`, { method: 'POST' })
  assert.is(status, 409)
})

esims('makes eUICCs with an EID that can be checked, on the curves that were asked for', async () => {
  await using place = await tempDir('steeple-esims-')
  const path = join(place.path, 'eum.json')
  await writeEums(path)
  const eums = await readEums(path)
  const both = newEuicc(eums, undefined, TERMS.notBeforeMs)
  assert.match(both.eid, /^89999999[0-9]{24}$/)
  assert.is(Number(BigInt(both.eid) % 97n), 1)
  assert.equal(
    both.chains.map(({ curve }) => curve),
    ['P-256', 'brainpoolP256r1'],
  )
  assert.is(newEuicc(eums, 'brainpoolP256r1', TERMS.notBeforeMs).chains.length, 1)
  const all = await openEsims({ directory: place.path, clock: machineClock() })
  assert.equal(await all.list(), [])
  await all.close()
})

esims.run()
