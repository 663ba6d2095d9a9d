import crypto, { createECDH, createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Issued, issueCi, issueDp, issueEum, issueTls, type RspCurve } from '@steeple/sgp22'
import { assert, eventually, suite } from '@steeple/testkit'
import { deliverNotifications, enableOn, es9Client, fetchTransport } from '@steeple/virtual-euicc'
import { decrypt, generateKey, readMessage, readPrivateKey } from 'openpgp'
import { filesOf, type Place, processPlaces } from '../harness/canary/files.ts'
import { bytesNeedle, found, type Needle, textNeedle } from '../harness/canary/needles.ts'
import { type ProcessWatch, watchProcesses } from '../harness/canary/process-watch.ts'
import { followEvents, whereFound } from '../harness/canary/search.ts'
import { startEs2Provider } from '../harness/es2-provider.ts'
import { download, ESIM_ENV, expect, iccidOctets, type LabEum, newEuicc } from '../harness/esim.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

const IIN = '89049032'
const DAY_MS = 86_400_000
const CURVES: readonly RspCurve[] = ['P-256', 'brainpoolP256r1']

/** A hierarchy whose private keys a test knows. */
interface OwnHierarchy {
  readonly eums: readonly LabEum[]
  /** Its private keys, as numbers. */
  readonly needles: readonly Needle[]
}

/** Writes certificates and keys of an SM-DP+ on both curves into a folder, as an operator gets them: PEM. */
function ownHierarchy(folder: string, host: string): OwnHierarchy {
  mkdirSync(folder, { recursive: true })
  const notBeforeMs = Math.floor(Date.now() / 1_000) * 1_000 - DAY_MS
  const validity = { notBeforeMs, notAfterMs: notBeforeMs + 300 * DAY_MS }
  const needles: Needle[] = []
  const eums = CURVES.map((curve): LabEum => {
    const of = (commonName: string) => ({
      ...validity,
      subject: { country: 'ZZ', organization: 'Canary', commonName: `${commonName} ${curve}` },
    })
    const registeredId = '2.999.10'
    const ci = issueCi(curve, { ...of('CI'), registeredId: '2.999.1' })
    const keep = (name: string, { certificate, key }: Issued): void => {
      // RFC 5915: version and number come first.
      const number = key.export({ format: 'der', type: 'sec1' }).subarray(7, 39)
      needles.push(bytesNeedle(`the key of ${name} on ${curve}`, number))
      writeFileSync(join(folder, `${name}-${curve}.pem`), pem(certificate.raw))
      writeFileSync(join(folder, `${name}-${curve}.key`), key.export({ format: 'pem', type: 'pkcs8' }))
    }
    writeFileSync(join(folder, `ci-${curve}.pem`), pem(ci.certificate.raw))
    keep('dpauth', issueDp(ci, 'dpauth', { ...of('DPauth'), registeredId }))
    keep('dppb', issueDp(ci, 'dppb', { ...of('DPpb'), registeredId }))
    keep('dptls', issueTls(ci, { ...validity, organization: 'Canary', hosts: [host], registeredId }))
    const eum = issueEum(ci, { ...of('EUM'), registeredId: '2.999.5', iins: [IIN] })
    const base64 = (der: Uint8Array): string => Buffer.from(der).toString('base64')
    return { curve, iin: IIN, ci: base64(ci.certificate.raw), eum: base64(eum.certificate.raw), key: eum.key }
  })
  return { eums, needles }
}

function pem(der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

/** Notices the keys that this process agrees on and uses while a phone downloads in it. */
interface KeyWatch {
  /** One-time private keys, shared secrets, and keys of AES: of the session and of the profile. */
  needles(): readonly Needle[]
  stop(): void
}

/** Begins to notice. Whatever else of this process uses ECDH or AES is noticed too. */
function watchKeys(): KeyWatch {
  const seen = new Map<string, Needle>()
  const note = (name: string, octets: Buffer): void => {
    seen.set(`${name} ${octets.toString('hex')}`, bytesNeedle(name, octets))
  }
  const agreements = Object.getPrototypeOf(createECDH('prime256v1'))
  const { computeSecret } = agreements
  agreements.computeSecret = function agree(this: crypto.ECDH, ...given: readonly unknown[]) {
    note('a one-time key', this.getPrivateKey())
    const secret: Buffer = computeSecret.apply(this, given)
    // Whoever asked may wipe it.
    note('a shared secret', Buffer.from(secret))
    return secret
  }
  const { createCipheriv, createDecipheriv } = crypto
  const noting = <Make extends (...given: never[]) => unknown>(make: Make): Make =>
    ((...given: Parameters<Make>) => {
      const key: unknown = given[1]
      if (key instanceof Uint8Array && key.some((octet) => octet !== 0))
        note('a session key', Buffer.from(key))
      return make(...given)
    }) as unknown as Make
  const put = (made: Partial<typeof crypto>): void => {
    Object.assign(crypto, made)
    syncBuiltinESMExports()
  }
  put({ createCipheriv: noting(createCipheriv), createDecipheriv: noting(createDecipheriv) })
  return {
    needles: () => [...seen.values()],
    stop: () => {
      agreements.computeSecret = computeSecret
      put({ createCipheriv, createDecipheriv })
    },
  }
}

/*
 * Secrets of eSIM: matching ids, confirmation codes, EIDs, private keys of certificates, what is in a profile (IMSI, ICCID, Ki,
 * OPc), and the one-time and session keys of downloads, which this test learns as the phone that makes them. They are shown by
 * issue, qr and sheet, delivered inside the protocol, and are nowhere else: no log line at debug level, no file of the data
 * directory, no other answer, no audit entry, metric, event, command line or output of another command.
 */
const canary = suite('e2e/canary-esim')
const CONFIRMATION = `code-${randomBytes(12).toString('hex')}`
const WRONG = `wrong-${randomBytes(12).toString('hex')}`
const HOST = 'smdp.example.org'

const folder = mkdtempSync(join(tmpdir(), 'steeple-canary-esim-'))
const dataDir = join(folder, 'data')
const secrets: Needle[] = []
const places: Place[] = []
const activationCodes: string[] = []
let service: Service
let hierarchy: OwnHierarchy
let events: () => string
let searched = 0
let keys: KeyWatch
let processes: ProcessWatch

canary.before(async () => {
  service = await startService({ dataDir, env: ESIM_ENV, flags: ['--log-level', 'debug'] })
  processes = watchProcesses()
  keys = watchKeys()
  events = await followEvents(service)
  hierarchy = ownHierarchy(join(folder, 'certs'), HOST)
  secrets.push(...hierarchy.needles)
  for (const [name, code] of [
    ['the confirmation code', CONFIRMATION],
    ['a wrong confirmation code', WRONG],
  ] as const)
    secrets.push(
      textNeedle(name, code),
      bytesNeedle(`the hash of ${name}`, createHash('sha256').update(code).digest()),
    )
})

canary.after(async () => {
  processes.stop()
  keys.stop()
  if (service.child.exitCode === null) await service.kill()
  rmSync(folder, { recursive: true, force: true })
})

canary('takes certificates and issues codes by commands and by the API', async () => {
  await command(['esim', 'certs', 'import', join(folder, 'certs')])
  await command(['esim', 'certs', 'list', '--json'])
  const shown = await command(
    ['esim', 'issue', '--label', 'ann', '--json', '--confirmation-code', '-'],
    `${CONFIRMATION}\n`,
    true,
  )
  learn(JSON.parse(shown))
  const headers = { 'idempotency-key': 'once' }
  const body = { count: 3, label: 'harbour', confirmation_code: CONFIRMATION }
  const first = expect(await service.request('POST', '/v1/esim/issue', { body, headers }), 201)
  const again = expect(await service.request('POST', '/v1/esim/issue', { body, headers }), 201)
  assert.equal(again, first)
  for (const code of first.codes) learn(code)
  for (const args of [
    ['esim', 'qr', first.token],
    ['esim', 'sheet', first.batch_id],
  ])
    assert.ok(found(secrets, Buffer.from(await command(args, '', true))).length > 0, args.join(' '))
  await command(['esim', 'codes', '--json'])
  await command(['esim', 'show', first.token])
  await command(['esim', 'revoke', first.codes[2].token])
  // An activation code where a token belongs is neither repeated nor sent on.
  await command(['esim', 'show', activationCodes[0] ?? ''], '', false, 2)
})

canary('downloads on both curves, with a wrong and a right confirmation code, and tells of it', async () => {
  for (const [i, eum] of hierarchy.eums.entries()) {
    const euicc = newEuicc([eum])
    secrets.push(
      textNeedle('an EID', euicc.eid),
      bytesNeedle('an EID, the octets', Buffer.from(euicc.eid, 'hex')),
    )
    const code = activationCodes[i] ?? ''
    await download(service, euicc, code, WRONG).then(
      () => assert.unreachable(),
      () => undefined,
    )
    const { profile } = await download(service, euicc, code, CONFIRMATION)
    secrets.push(
      textNeedle('an IMSI', profile.imsi),
      textNeedle('an ICCID', profile.iccid),
      bytesNeedle('Ki', Buffer.from(profile.ki)),
      bytesNeedle('OPc', Buffer.from(profile.opc)),
    )
    enableOn(euicc, iccidOctets(profile.iccid))
    await deliverNotifications(euicc, es9Client(service.url, fetchTransport), HOST)
  }
  const needles = keys.needles()
  keys.stop()
  for (const kind of ['a one-time key', 'a shared secret', 'a session key'])
    assert.ok(needles.filter(({ name }) => name === kind).length >= 2, kind)
  secrets.push(...needles)
})

canary(
  'hands keys to a provider in a file that it alone reads, orders from it, and takes its codes',
  async () => {
    const at = join(folder, 'provider')
    mkdirSync(at)
    const provider = await startEs2Provider()
    try {
      const keysOf = await generateKey({ userIDs: [{ name: 'Harbour' }], type: 'ecc', date: new Date(0) })
      const [order, orderKey] = [join(at, 'order.asc'), join(at, 'harbour.asc')]
      writeFileSync(orderKey, keysOf.publicKey)
      const { ca, cert, key } = provider.files
      secrets.push(bytesNeedle('the key of the client certificate', privateNumber(readFileSync(key, 'utf8'))))
      await command([
        ...['esim', 'provider', 'set', 'harbour', '--order-key', orderKey, '--requester', '2.999.7'],
        ...['--es2-url', provider.url, '--server-ca', ca, '--client-cert', cert, '--client-key', key],
      ])
      const { batch_id } = expect(await service.request('POST', '/v1/sims', { body: { count: 2 } }), 201)
      await command(['esim', 'provider', 'order-file', 'harbour', '--batch', batch_id, '--out', order])
      const file = readFileSync(order, 'utf8')
      const { data } = await decrypt({
        message: await readMessage({ armoredMessage: file }),
        decryptionKeys: await readPrivateKey({ armoredKey: keysOf.privateKey }),
      })
      const [first, second] = String(data)
        .trimEnd()
        .split(/\r?\n/)
        .slice(1)
        .map((line) => line.split(','))
      if (first === undefined || second === undefined) throw new Error('two SIMs were ordered')
      const of: readonly Needle[] = [first, second].flatMap(([iccid = '', imsi = '', k = '', opc = '']) => [
        textNeedle('an ICCID in an order file', iccid),
        textNeedle('an IMSI in an order file', imsi),
        bytesNeedle('Ki in an order file', Buffer.from(k, 'hex')),
        bytesNeedle('OPc in an order file', Buffer.from(opc, 'hex')),
      ])
      secrets.push(...of)
      assert.equal(whereFound(of, [{ name: 'the order file', content: Buffer.from(file) }]), [])
      provider.profiles.set(first[0] ?? '', 'available')
      provider.profiles.set(second[0] ?? '', 'available')
      await command(['esim', 'provider', 'order', 'harbour', '--batch', batch_id])
      secrets.push(textNeedle('a matching id of a provider', `PROVIDED-${first[0]?.slice(-8)}`))
      // The number of a profile goes to the provider by ES2+, and nothing of what is in it.
      const others = of.filter(({ name }) => !name.includes('ICCID'))
      assert.equal(whereFound(others, [{ name: 'ES2+', content: Buffer.from(provider.received()) }]), [])
      const back = join(at, 'codes.csv')
      const returned = `RETURNED-${randomBytes(12).toString('hex').toUpperCase()}`
      secrets.push(textNeedle('a matching id that came back', returned))
      writeFileSync(back, `ICCID,LPA\n${second[0]},LPA:1$rsp.provider.example$${returned}\n`)
      await command(['esim', 'provider', 'import', 'harbour', back])
      const password = await command(['esim', 'provider', 'password', 'harbour', '--json'], '', true)
      secrets.push(textNeedle('the password of notifications', JSON.parse(password).password))
      await command(['esim', 'provider', 'show', 'harbour', '--json'])
      await command(['esim', 'provider', 'list', '--json'])
    } finally {
      await provider.stop()
      rmSync(at, { recursive: true })
    }
  },
)

canary('sends secrets to where they do not belong', async () => {
  const [matchingId = ''] = activationCodes.map((code) => code.split('$')[2] ?? '')
  for (const text of [matchingId, CONFIRMATION]) {
    const junk: readonly (readonly [method: string, path: string, body?: unknown])[] = [
      ['GET', `/v1/esim/codes?state=${text}`],
      ['GET', `/v1/esim/codes/e-0/qr?code=${text}`],
      ['POST', '/v1/esim/revoke', { token: text }],
      ['POST', '/v1/esim/issue', { batch_id: 'b-0', [text]: text }],
      ['POST', '/v1/esim/issue', { eid: text }],
      ...[
        'initiateAuthentication',
        'authenticateClient',
        'getBoundProfilePackage',
        'handleNotification',
        'cancelSession',
      ].flatMap((name): readonly (readonly [string, string, unknown])[] => [
        ['POST', `/gsma/rsp2/es9plus/${name}?code=${text}`, { transactionId: text }],
        ['POST', `/es9plus/${name}`, text],
        ['POST', `/es9plus/${name}`, { smdpAddress: text, euiccChallenge: text, pendingNotification: text }],
      ]),
    ]
    for (const [method, path, body] of junk) {
      const { status } = await service.request(method, path, body === undefined ? {} : { body })
      assert.ok(status < 500, `${method} ${path.split('?')[0]}: ${status}`)
    }
  }
})

canary('finds none of them in answers, the audit trail, metrics, events and command lines', async () => {
  const [batch] = expect(await service.request('GET', '/v1/esim/codes'), 200).codes
  for (const path of [
    '/metrics',
    '/v1/health',
    '/v1/plugins',
    '/v1/openapi.json',
    '/v1/audit?limit=500',
    '/v1/sims?limit=500',
    '/v1/sims/export',
    '/v1/esim/codes?limit=500',
    `/v1/esim/codes/${batch.token}`,
    '/v1/esim/euiccs?limit=500',
    '/v1/esim/certs?limit=500',
    '/v1/esim/providers?limit=500',
    '/v1/esim/providers/harbour',
  ]) {
    const { status, body } = await service.request('GET', path)
    assert.is(status, 200, path)
    places.push({
      name: path,
      content: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    })
  }
  await eventually(() => assert.match(events(), /esim\.issue/))
  places.push({ name: '/v1/events', content: Buffer.from(events()) })
  const { commandLines, environments } = processPlaces(service.child.pid ?? 0)
  places.push(...commandLines, ...environments)
  // This test's own processes have the code that they are not to repeat.
  const others = processes.stop().filter(({ content }) => !content.includes('LPA:1$'))
  places.push(...others)
  search()
})

canary(
  'finds none of them in the data directory and in the log, also once its keys are rotated',
  async () => {
    const filesNow = (): readonly Place[] => filesOf(dataDir, ['keys'])
    places.push(...filesNow())
    assert.is(await service.stop(), 0)
    places.push(...filesNow())
    const log = Buffer.from(service.output())
    assert.ok(log.length > 20_000, 'the log is at debug level')
    places.push({ name: 'the log', content: log })
    const { code, stderr } = await runSvc(['vault', 'rotate', '--data-dir', dataDir])
    assert.is(code, 0, stderr)
    places.push(...filesNow())
    search()
  },
)

canary('shows codes after a rotation as before it', async () => {
  service = await startService({ dataDir, env: ESIM_ENV, adminToken: service.adminToken })
  const { codes } = expect(await service.request('GET', '/v1/esim/codes?state=released'), 200)
  const own = codes.find(({ provider }: { readonly provider: string | null }) => provider === null)
  const { body } = await service.request('GET', `/v1/esim/codes/${own.token}/qr`, {
    headers: { accept: 'application/json' },
  })
  assert.ok(activationCodes.includes(body.activation_code))
  const euicc = newEuicc(hierarchy.eums)
  await download(service, euicc, body.activation_code, CONFIRMATION)
  process.stdout.write(`\n# ${secrets.length} secrets in ${searched} places\n`)
})

canary.run()

/** Of a P-256 key in PEM. RFC 5915: version and number come first. */
function privateNumber(text: string): Buffer {
  return crypto.createPrivateKey(text).export({ format: 'der', type: 'sec1' }).subarray(7, 39)
}

function learn({ activation_code }: { readonly activation_code: string }): void {
  activationCodes.push(activation_code)
  secrets.push(textNeedle('a matching id', activation_code.split('$')[2] ?? ''))
}

function search(): void {
  searched += places.length
  assert.equal(whereFound(secrets, places.splice(0)), [])
}

/** Runs a command; what it prints is searched unless it is one that shows codes. */
async function command(args: readonly string[], input = '', isShowing = false, wanted = 0): Promise<string> {
  const env = { SVC_URL: service.url, SVC_TOKEN: service.adminToken }
  const { code, stdout, stderr } = await runSvc(args, env, input)
  assert.is(code, wanted, stderr)
  places.push({ name: `svc ${args.join(' ')}`, content: Buffer.from(isShowing ? stderr : stdout + stderr) })
  return stdout
}
