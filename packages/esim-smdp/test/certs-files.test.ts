import { sign } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { newKey } from '@steeple/sgp22'
import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { type CertFile, readFiles } from '../src/certs/files.ts'
import { pemOf } from '../src/certs/held.ts'
import { newHierarchy } from '../src/certs/hierarchy.ts'
import { planImport } from '../src/certs/plan-import.ts'

const files = suite('esim-smdp/certs-files', { limitMs: 900_000 })
const NOW = Date.UTC(2026, 10, 22)
const SCALAR = /[0-9a-f]{64}|[A-Za-z0-9+/_-]{43}/

/** CERT.DPauth and the rest of a set of our own, as files; keys in the form that is asked for. */
function hierarchyFiles(form: 'pkcs8 pem' | 'sec1 pem' | 'pkcs8 der' | 'sec1 der'): readonly CertFile[] {
  const [type, format] = form.split(' ') as ['pkcs8' | 'sec1', 'pem' | 'der']
  return newHierarchy('P-256', 'smdp.example.org', NOW).flatMap(({ role, certificate, key }) => {
    const cert = { name: `${role}.der`, octets: certificate.raw }
    const exported = key?.export({ type, format } as { type: 'pkcs8'; format: 'der' })
    return role === 'ci' || exported === undefined
      ? [cert]
      : [cert, { name: `${role}.key`, octets: Buffer.from(exported) }]
  })
}

for (const form of ['pkcs8 pem', 'sec1 pem', 'pkcs8 der', 'sec1 der'] as const)
  files(`takes keys as ${form}`, async () => {
    const plan = planImport(readFiles(hierarchyFiles(form)), [], { nowMs: NOW })
    assert.equal(plan.problems, [])
    assert.equal(plan.added.map(({ role }) => role).toSorted(), ['ci', 'dpauth', 'dppb', 'dptls'])
  })

files('takes one file that holds everything, and passes over what comes with it', async () => {
  const all = hierarchyFiles('sec1 pem').map(({ name, octets }) =>
    name.endsWith('.der') ? pemOf(octets) : Buffer.from(octets).toString('latin1'),
  )
  const words =
    'subject=whatever\n-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n'
  const plan = planImport(
    readFiles([{ name: 'all.pem', octets: Buffer.from(words + all.join(words)) }]),
    [],
    { nowMs: NOW },
  )
  assert.equal([plan.added.length, plan.problems.length], [4, 0])
})

files('passes over a signature that lies among keys', async () => {
  const octets = sign('sha256', Buffer.from('x'), newKey('P-256'))
  const found = readFiles([{ name: 'data_sig.der', octets }, ...hierarchyFiles('sec1 der')])
  assert.equal([found.problems, found.certificates.length, found.keys.length], [[], 4, 3])
})

files('says of keys of other kinds what to do', async () => {
  const pem = (label: string, body: string): CertFile => ({
    name: 'x.pem',
    octets: Buffer.from(`-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`),
  })
  const problemOf = (file: CertFile): string => readFiles([file]).problems[0]?.problem ?? 'none'
  assert.match(problemOf(pem('ENCRYPTED PRIVATE KEY', 'MIIB')), /decrypt it first with openssl/)
  assert.match(problemOf(pem('RSA PRIVATE KEY', 'MIIB')), /no certificate, revocation list or private key/)
  assert.match(problemOf(pem('PRIVATE KEY', 'MIIB')), /has to be EC/)
  assert.match(
    problemOf({ name: 'x', octets: Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB') }),
    /copy the whole file/,
  )
  assert.match(problemOf({ name: 'x', octets: new Uint8Array(70_000) }), /more than 65536 octets/)
})

files('never throws for what is in files, and never repeats what may be a key', async () => {
  const folder = new URL('./fixtures/sgp26/', import.meta.url)
  const names = (await readdir(folder)).filter((name) => /\.(der|pem)$/.test(name))
  const real = await Promise.all(
    names.map(async (name) => ({ name, octets: await readFile(new URL(name, folder)) })),
  )
  const samples = [...real, ...hierarchyFiles('pkcs8 der'), ...hierarchyFiles('sec1 pem')]
  const mutated = fc
    .tuple(
      fc.constantFrom(...samples),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 5 }),
      fc.nat(),
      fc.nat(3),
    )
    .map(([{ name, octets }, edits, cut, how]) => {
      const copy = Buffer.from(octets)
      for (const [at, value] of edits) copy[at % copy.length] = value
      return { name, octets: how === 0 ? copy.subarray(0, cut % copy.length) : copy }
    })
  const any = fc.record({ name: fc.string(), octets: fc.uint8Array({ maxLength: 400 }) })
  await fc.assert(
    fc.property(fc.array(fc.oneof(mutated, any), { maxLength: 12 }), (given) => {
      const plan = planImport(readFiles(given), [], { nowMs: NOW })
      for (const { problem } of plan.problems) {
        assert.ok(problem.length > 10)
        // A key identifier has 40 hexadecimal digits, a private key 64.
        assert.not.match(problem.replace(/\(C=[^)]*\)|\(CN=[^)]*\)|\(O=[^)]*\)/g, ''), SCALAR)
      }
      for (const { role, key } of plan.added) assert.ok(role === 'ci' || role === 'eum' || key !== undefined)
    }),
    { numRuns: 500 },
  )
})

files.run()
